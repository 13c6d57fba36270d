import { Command, Option } from 'clipanion';
import { Output } from '../terminal/output.ts';
import { plain } from '../terminal/plain.ts';
import { explain } from './explain.ts';

/** What all commands share: `--json`, and that a fault becomes a sentence on stderr and an exit code. */
export abstract class BaseCommand extends Command {
  json = Option.Boolean('--json', false, {
    description: 'print only JSON on stdout; messages go to stderr',
  });

  /** Does the work and gives the exit code; whatever it throws is explained. */
  protected abstract run(output: Output): Promise<number>;

  override async execute(): Promise<number> {
    const output = new Output(this.context, this.json);
    try {
      return await this.run(output);
    } catch (thrown) {
      const fault = explain(thrown);
      const { red, dim } = output.noteColours;
      output.note(`${red('error:')} ${plain(fault.message)}`);
      for (const line of fault.details) output.note(`  ${plain(line)}`);
      if (fault.hint !== undefined) output.note(dim(plain(fault.hint)));
      return fault.exit;
    }
  }
}
