import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readGrid } from '../../actors/worker/runners/mljs/data/grid.ts';

/** The same text with its last cell in quotes, so that all of it is read as one that may hold any. */
const quoted = (text: string) => text.replace(/([^,;\t\r\n ]+)(\s*)$/, '"$1"$2');

describe('mljs: a text without quotes is split like one with quotes', () => {
  const texts: Record<string, string> = {
    'a table': '1,2,3\n4,5,6\n7,8,9\n',
    'no line end at the end': '1,2,3\n4,5,6',
    'empty lines': 'x;y\n\n1;2\n\n\n3;4\n',
    'rows of empty cells': 'x;y\n;\n1;2\n;\n3;4\n',
    'blanks around cells': ' x , y\n1 , 2\n 3,4 \n',
    tabs: 'x\ty\n1\t2\n\t3\n4\t5\n',
    'line ends of other systems': 'x,y\r\n1,2\r3,4\r\n',
    'a delimiter at each end': 'x,y,\n1,2,\n3,4,\n,,5\n',
    'quotes above': '"a x","b"\n1,2\n\n3,4\n',
    'quotes over two lines': '"a\nx","b"\n1,2\n\n3,4\n',
    'a quote in the middle': 'x,y\n\n"1",2\n3,4\n\n5,6\n',
    'a comment and a line for Excel': 'sep=;\n# about it\nx;y\n1;2\n\n3;4\n',
  };
  for (const [what, text] of Object.entries(texts)) {
    it(what, () => {
      assert.notEqual(quoted(text), text);
      assert.deepEqual(readGrid(text, 'x.csv'), readGrid(quoted(text), 'x.csv'));
    });
  }

  it('counts lines from the beginning of the file, also after quotes', () => {
    const { lines, blankLines } = readGrid('# about it\n"a\nx","b"\n1,2\n\n3,4\n', 'x.csv');
    assert.deepEqual([lines, blankLines], [[3, 4, 6], [5]]);
  });
});
