// Tasks as a worker starts them with `--cold`: the interpreter anew, which loads nirs4all for each.
process.env.JQ_SPEC_RUNNER = 'cold';
for (const file of ['./faults.spec.ts', './parity.spec.ts']) await import(file);
