import { playShares } from '../support/spread.ts';
import { ownFolder } from './base.ts';
import { type ModelOutcome, type ModelRun, runModel } from './property.ts';

const base = ownFolder();

playShares<Omit<ModelRun, 'base'>, ModelOutcome>((share) => runModel({ ...share, base }));
