// `npm run docs`: makes the parts of documents anew that come from the code.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentsMade, ROOT } from './parts.ts';

for (const [document, text] of documentsMade()) writeFileSync(join(ROOT, document), text);
