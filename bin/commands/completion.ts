import { Option } from 'clipanion';
import { BaseCommand } from '../cli/base.ts';
import { EXIT } from '../cli/exit.ts';
import { word } from '../cli/flags.ts';
import { programUsage } from '../cli/usage.ts';
import { bashScript } from '../completion/bash.ts';
import { fishScript } from '../completion/fish.ts';
import { type CommandModel, commandModels, SHELLS, type Shell } from '../completion/model.ts';
import { zshScript } from '../completion/zsh.ts';
import type { Output } from '../terminal/output.ts';

const SCRIPTS: Record<Shell, (commands: readonly CommandModel[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

export class CompletionCommand extends BaseCommand {
  static override paths = [['completion']];
  static override usage = programUsage('completion', {
    details: `
      The shell then completes commands, flags, their values and files by itself, and asks the server for the ids of
      jobs: the one of \`--server\` on the command line, else of \`JQ_SERVER\`, with the credential of \`--token\` or
      \`JQ_TOKEN\`. When the server is away it offers none.

      \`--json\` prints one document, with the members \`shell\` and \`script\`.
    `,
    examples: [
      ['bash, in ~/.bashrc', 'source <(jqctl completion bash)'],
      ['zsh, in ~/.zshrc behind compinit', 'source <(jqctl completion zsh)'],
      ['fish', 'jqctl completion fish > ~/.config/fish/completions/jqctl.fish'],
    ],
  });

  shell = Option.String({ name: 'shell' });

  protected override async run(output: Output): Promise<number> {
    const shell = word('shell', this.shell, SHELLS);
    const script = SCRIPTS[shell](commandModels(this.cli.definitions()));
    await output.print(output.json ? JSON.stringify({ shell, script }) : script);
    return EXIT.done;
  }
}
