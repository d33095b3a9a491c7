import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Inline, parseInline } from '../../../../src/core/markdown/parseInline.ts';
import { parseMarkdown } from '../../../../src/core/markdown/parseMarkdown.ts';

/** Formats pieces as text, with markers for their types. */
const marked = (parts: readonly Inline[]): string =>
	parts
		.map((part) => {
			switch (part.kind) {
				case 'text':
					return part.text;
				case 'code':
					return `{code ${part.text}}`;
				case 'image':
					return `{image ${part.target} ${part.text}}`;
				case 'link':
					return `{link ${part.target} ${marked(part.content)}}`;
				default:
					return `{${part.kind} ${marked(part.content)}}`;
			}
		})
		.join('');
const inline = (text: string) => marked(parseInline(text));

test('blocks are recognized, and everything else is a paragraph', () => {
	const source = [
		...[
			'# Why accuracy fell #',
			'',
			'First line',
			'second line',
			'## Evidence',
			'- one',
			'  continued',
			'  - nested',
			'2. two',
		],
		...['', '> quoted', '> text', '', '| step | reward |', '|---:|---|', '| 12 | a \\| `b|c` |', '| 13 |', ''],
		...['```sql', 'SELECT *', '', '# no heading', '```', '---', '<b>html</b>', '    indented'],
	].join('\r\n');
	const blocks = parseMarkdown(source).map((block): unknown => {
		switch (block.kind) {
			case 'table':
				return [block.kind, block.header.map(marked), block.rows.map((row) => row.map(marked))];
			case 'list':
				return [block.kind, block.items.map(({ mark, depth, text }) => [mark, depth, marked(text)])];
			case 'code':
				return [block.kind, block.text];
			case 'rule':
				return [block.kind];
			default:
				return [block.kind, marked(block.text)];
		}
	});
	assert.deepEqual(blocks, [
		['heading', 'Why accuracy fell'],
		['paragraph', 'First line\nsecond line'],
		['heading', 'Evidence'],
		[
			'list',
			[
				['•', 0, 'one\ncontinued'],
				['•', 1, 'nested'],
				['2.', 0, 'two'],
			],
		],
		['quote', 'quoted\ntext'],
		[
			'table',
			['step', 'reward'],
			[
				['12', 'a | {code b|c}'],
				['13', ''],
			],
		],
		['code', 'SELECT *\n\n# no heading'],
		['rule'],
		['paragraph', '<b>html</b>\nindented'],
	]);
});

test('citations are links, with or without link text, but not in code', () => {
	assert.equal(
		inline('It fell to [**0.62**](rl://add/metric/reward?step=40), see <rl://add/step/3> and (rl://add/step/4).'),
		'It fell to {link rl://add/metric/reward?step=40 {strong 0.62}}, see {link rl://add/step/3 rl://add/step/3} and ({link rl://add/step/4 rl://add/step/4}).',
	);
	assert.equal(inline('`rl://add`'), '{code rl://add}');
	assert.equal(inline('![Reward](rl://add/metric/reward)'), '{image rl://add/metric/reward Reward}');
	assert.equal(inline('[a [b] c](x(1))'), '{link x(1) a [b] c}');
});

test('marks within words, unclosed marks and escaped marks are text', () => {
	assert.equal(inline('snake_case_name and 2 * 3 * 4'), 'snake_case_name and 2 * 3 * 4');
	assert.equal(
		inline('*so* **not** \\*this\\* [nor this] ** `or'),
		'{emphasis so} {strong not} *this* [nor this] ** `or',
	);
	assert.equal(inline('[link](javascript:alert(1))'), '{link javascript:alert(1) link}');
});

test('hostile texts take linear time', () => {
	const started = performance.now();
	for (const piece of ['*a ', '[', '![', '`', '<rl://', '**', '_a ', '> ', '- ', '|', '\\']) {
		parseMarkdown(piece.repeat(100_000 / piece.length));
		parseMarkdown(`${piece}\n`.repeat(20_000));
	}
	assert.ok(performance.now() - started < 20_000);
});
