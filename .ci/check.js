// Runs what checks the code, all at the same time: each is busy on about one processor.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

const CHECKS = [
  ['biome', 'check', '.'],
  // More of its checkers would each work out the types of the table of routes anew.
  ['tsc', '--noEmit', '--checkers', '1'],
  ['tsc', '--noEmit', '--checkers', '1', '-p', 'gateway/ui/client'],
];

const codes = CHECKS.map(async ([program, ...args]) => {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  });
  const ended = new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  const said = (await Promise.all([text(child.stdout), text(child.stderr)])).join('');
  const code = await ended;
  process.stdout.write(said);
  return code;
});
process.exitCode = (await Promise.all(codes)).every((code) => code === 0) ? 0 : 1;
