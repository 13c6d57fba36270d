import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createMachine } from 'xstate';
import { asciiOf } from '../../machines/charts/ascii.ts';
import { MACHINES } from '../../machines/charts/catalogue.ts';
import { machineJson } from '../../machines/charts/config.ts';
import { chartOf } from '../../machines/charts/graph.ts';
import { mermaidOf } from '../../machines/charts/mermaid.ts';
import { MACHINE_NAMES } from '../../machines/charts/names.ts';

for (const name of MACHINE_NAMES) {
  const { machine } = MACHINES[name];

  describe(`the statechart of ${name}`, () => {
    test('is rebuilt by createMachine from its JSON with the same states and arrows', () => {
      const text = JSON.stringify(machineJson(machine));
      const rebuilt = createMachine(JSON.parse(text));
      assert.deepEqual(chartOf(rebuilt as never), chartOf(machine));
      assert.ok(chartOf(machine).states.length > 3);
    });

    test('names every guard and action: nothing is inline', () => {
      for (const arrow of chartOf(machine).arrows) {
        const words = [...arrow.actions, ...(arrow.guard === null ? [] : [arrow.guard])];
        for (const word of words)
          assert.match(word, /^[a-z][A-Za-z. ]+$/, `${arrow.from} ${arrow.event}: ${word}`);
      }
    });

    test('has every state and every arrow in Mermaid and in text', () => {
      const chart = chartOf(machine);
      const [mermaid, ascii] = [mermaidOf(chart), asciiOf(chart)];
      for (const state of chart.states) {
        if (state.parent !== null) assert.ok(mermaid.includes(`state "${state.key}" as `), state.id);
        assert.ok(ascii.includes(state.key), state.id);
      }
      for (const arrow of chart.arrows) {
        assert.ok(ascii.includes(arrow.event), arrow.event);
        if (arrow.from.includes('.'))
          assert.ok(mermaid.includes(arrow.event.replaceAll(':', '#58;')), arrow.event);
      }
    });
  });
}
