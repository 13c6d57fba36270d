// `npm run docs`: makes the parts of documents anew that come from the code, and the layouts of statecharts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LAYOUTS, layoutsMade, layoutsNow } from './layouts.ts';
import { documentsMade, ROOT } from './parts.ts';

for (const [document, text] of documentsMade()) writeFileSync(join(ROOT, document), text);
writeFileSync(join(ROOT, LAYOUTS), await layoutsMade(layoutsNow()));
