import { Option } from 'clipanion';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { MACHINE_NAMES, type MachineName } from '../../machines/charts/names.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { word } from '../cli/flags.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { plain } from '../terminal/plain.ts';
import { table } from '../terminal/table.ts';

export const CHART_FORMATS = ['xstate', 'mermaid', 'ascii'] as const;
type Format = (typeof CHART_FORMATS)[number];

/** What the list shows of a machine; the server alone knows how many actors there are. */
type Listed = { name: string; what: string; chart: { states: unknown[] }; counts?: Record<string, number> };

export class MachinesCommand extends ClientCommand {
  static override paths = [['machines']];
  static override usage = clientUsage('machines', {
    details: `
      Without a name it lists the machines, with how many actors are in each state. \`xstate\` is the definition as
      JSON, which Stately's editor and the XState visualizer import unchanged; \`mermaid\` is a diagram for
      Markdown; \`ascii\` is for reading here, and the default.

      With \`--local\` the machines of this very program are shown and no server is asked. \`--json\` prints the
      definition, or the whole list, as JSON.
    `,
    examples: [
      ['List the machines', 'jqctl machines'],
      ['Read the statechart of a task', 'jqctl machines task'],
      ['A definition for https://stately.ai/viz', 'jqctl machines job --format xstate > job.json'],
    ],
  });

  machine = Option.String({ name: 'machine', required: false });
  format = Option.String('--format', value('FORMAT', `${CHART_FORMATS.join(', ')} (ascii)`));
  local = Option.Boolean('--local', false, { description: 'those of this program; asks no server' });

  protected async act({ client, output }: Session): Promise<number> {
    const format = this.format === undefined ? undefined : word('--format', this.format, CHART_FORMATS);
    if (output.json && format !== undefined && format !== 'xstate') {
      throw usageError(`--json prints the definition; it does not go with --format ${format}`);
    }
    const source = this.local ? localCharts : serverCharts(client);
    if (this.machine === undefined && format === undefined) {
      const text = await source.list();
      await output.print(output.json ? text : listOf(JSON.parse(text) as Listed[], output));
      return EXIT.done;
    }
    const named = this.machine === undefined ? [...MACHINE_NAMES] : [nameOf(this.machine)];
    for (const name of named) {
      const text = await source.draw(name, output.json ? 'xstate' : (format ?? 'ascii'));
      // Several diagrams in a row do not say by themselves which is which.
      await output.print(named.length > 1 && format === 'mermaid' ? `%% ${name}\n${text}` : text);
    }
    return EXIT.done;
  }
}

const nameOf = (text: string): MachineName => word('machine', text, MACHINE_NAMES);

interface Charts {
  /** All machines as the server tells of them, JSON text. */
  list(): Promise<string>;
  draw(name: MachineName, format: Format): Promise<string>;
}

const serverCharts = (client: ClusterClient): Charts => ({
  list: () => client.callText('listMachines'),
  async draw(name, format) {
    const text = await client.callText('getMachine', { params: { name }, query: { format } });
    // The text comes from outside; its lines are its own.
    return format === 'xstate' ? text : text.split('\n').map(plain).join('\n');
  },
});

/** Loaded only here: the other commands start without the machines. */
const localCharts: Charts = {
  async list() {
    const { describeMachine } = await import('../../gateway/contract/machine-views.ts');
    return JSON.stringify(MACHINE_NAMES.map(describeMachine));
  },
  async draw(name, format) {
    const { describeMachine, drawMachine } = await import('../../gateway/contract/machine-views.ts');
    return format === 'xstate' ? JSON.stringify(describeMachine(name).config) : drawMachine(name, format);
  },
};

function listOf(machines: Listed[], output: Session['output']): string {
  const rows = machines.map(({ name, what, chart, counts }) => [
    plain(name),
    String(chart.states.length - 1),
    countsOf(name, counts ?? {}),
    plain(what),
  ]);
  const columns = [
    { title: 'machine' },
    { title: 'states', align: 'right' as const },
    { title: 'actors', flexible: true },
    { title: 'what it is', flexible: true },
  ];
  return table(columns, rows, output);
}

/** `2 running, 1 queued`: the top-level states; those below them are counted in them. */
function countsOf(name: string, counts: Record<string, number>): string {
  const there = Object.entries(counts).filter(([id, n]) => n > 0 && id.split('.').length === 2);
  return there.map(([id, n]) => `${n} ${plain(id.slice(name.length + 1))}`).join(', ') || '-';
}
