import type { LinkState } from '../support/faulty-link.ts';
import type { PostgresPair } from '../support/postgres-pair.ts';
import type { Member, Members } from './members.ts';

/** The server that is struck, and those around it. */
export interface Struck {
  leader: Member;
  members: Members;
  pair: PostgresPair;
}

/** A fault of the server that leads, or of its database. */
export interface Blow {
  /** For people: what happens until another one, or the same again, has acknowledged a job. */
  readonly words: string;
  /** Who has to acknowledge the next job: another server, or whichever. */
  readonly next: 'another' | 'any';
  /** How the one that led ends, once it is over; `null`: it may go on. */
  readonly ends: 'killed' | 'superseded' | null;
  strike(struck: Struck): Promise<void> | void;
  /** The end of it. */
  heal(struck: Struck): Promise<void> | void;
}

const signal = ({ leader }: Struck, name: NodeJS.Signals): void => void leader.program.child.kill(name);

const waysBecome = (state: LinkState): Pick<Blow, 'strike' | 'heal'> => ({
  strike: ({ leader, members }) => members.setWays(leader, state),
  heal: ({ leader, members }) => members.setWays(leader, 'open'),
});

export const BLOWS = {
  kill: {
    words: '`kill -9` of the one that leads',
    ...{ next: 'another', ends: 'killed' },
    strike: (struck) => signal(struck, 'SIGKILL'),
    heal: () => {},
  },
  stop: {
    words: 'SIGSTOP of the one that leads, which awakes afterwards',
    ...{ next: 'another', ends: 'superseded' },
    strike: (struck) => signal(struck, 'SIGSTOP'),
    heal: (struck) => signal(struck, 'SIGCONT'),
  },
  cut: {
    words: 'its connections to the database are reset, and new ones refused',
    ...{ next: 'another', ends: 'superseded' },
    ...waysBecome('cut'),
  },
  silent: {
    words: 'nothing comes through between it and the database, and nobody is told',
    ...{ next: 'another', ends: 'superseded' },
    ...waysBecome('silent'),
  },
  deaf: {
    words: 'what it asks reaches the database, and no answer reaches it',
    ...{ next: 'another', ends: 'superseded' },
    ...waysBecome('deaf'),
  },
  half_open: {
    words: 'the database has ended its connections, and it is not told',
    ...{ next: 'another', ends: 'superseded' },
    ...waysBecome('half_open'),
  },
  slow: {
    words: 'each piece between it and the database takes 150 ms',
    ...{ next: 'any', ends: null },
    ...waysBecome('slow'),
  },
  fail_over: {
    words: '`kill -9` of PostgreSQL, whose replica is promoted',
    ...{ next: 'any', ends: null },
    strike: ({ pair }) => pair.failOver(),
    heal: ({ pair }) => pair.restore(),
  },
  vanish: {
    words: 'the machine of PostgreSQL is gone, without a word to anybody, and the replica is promoted',
    ...{ next: 'any', ends: null },
    strike: async ({ pair, members }) => {
      await members.setWaysTo(pair.ports[0], 'silent');
      await pair.failOver();
    },
    heal: async ({ pair, members }) => {
      await pair.restore();
      await members.setWaysTo(pair.ports[1], 'open');
    },
  },
} as const satisfies Record<string, Blow>;

export type BlowName = keyof typeof BLOWS;
export const BLOW_NAMES = Object.keys(BLOWS) as BlowName[];

/** What the rounds of a long run are, over and over: what is quick comes more often. */
const MIX: readonly BlowName[] = [
  ...(['kill', 'cut', 'fail_over', 'kill', 'stop', 'half_open', 'kill', 'slow', 'cut'] as const),
  ...(['kill', 'fail_over', 'silent', 'kill', 'half_open', 'kill', 'deaf', 'cut', 'slow'] as const),
  ...(['kill', 'vanish'] as const),
];

export const blowOf = (round: number): BlowName => MIX[round % MIX.length] as BlowName;
