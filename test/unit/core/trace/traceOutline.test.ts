import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { type TraceNode, traceOutline } from '../../../../src/core/trace/traceOutline.ts';

/** Returns the outline as indented lines: title and the text of the node. */
function drawn(text: string): string[] {
	const lines: string[] = [];
	const visit = (nodes: readonly TraceNode[], depth: number) => {
		for (const { title, start, end, children } of nodes) {
			lines.push(`${'  '.repeat(depth)}${title} | ${text.slice(start, end).replaceAll('\n', '⏎')}`);
			visit(children, depth + 1);
		}
	};
	visit(traceOutline(text), 0);
	return lines;
}

test('sections, steps and boxed answers are nested as in the text', () => {
	const text =
		'<think>Plan.\nStep 1: add 2\nand 3\n\n**Step 2** check \\boxed{\\frac{1}{2}}\n</think>\n<answer>\\boxed{5}</answer>\n';
	assert.deepEqual(drawn(text), [
		'think | <think>Plan.⏎Step 1: add 2⏎and 3⏎⏎**Step 2** check \\boxed{\\frac{1}{2}}⏎</think>',
		'  step 1 | Step 1: add 2⏎and 3',
		'  step 2 | **Step 2** check \\boxed{\\frac{1}{2}}',
		'    \\boxed{\\frac{1}{2}} | \\boxed{\\frac{1}{2}}',
		'answer | <answer>\\boxed{5}</answer>',
		'  \\boxed{5} | \\boxed{5}',
	]);
});

test('an unclosed section extends to the end, and an unopened one is ignored', () => {
	assert.deepEqual(drawn('</answer>1. one\n2) two <think>open\nStep 3'), [
		'step 2 | 2) two',
		'think | <think>open⏎Step 3',
		'  step 3 | Step 3',
	]);
	assert.deepEqual(drawn('\\boxed{1 + {2}'), ['\\boxed{ | \\boxed{']);
	assert.deepEqual(drawn('3.5 is no step, nor is\n 4.2'), []);
});

test('sections of any text are inside their parents, in order, and finite', () => {
	const pieces = [
		'<think>',
		'</think>',
		'<answer>',
		'</answer>',
		'\n',
		'Step 2',
		'\n3. x',
		'\\boxed{',
		'}',
		'{',
		' a ',
		'\\',
	];
	const random = Random.of('outline');
	for (let round = 0; round < 300; round++) {
		const text = Array.from({ length: 1 + random.int(40) }, () => pieces[random.int(pieces.length)]).join('');
		const visit = (nodes: readonly TraceNode[], start: number, end: number) => {
			let last = start;
			for (const node of nodes) {
				assert.ok(node.start >= last && node.end <= end && node.start <= node.end, JSON.stringify({ text, node }));
				visit(node.children, node.start, node.end);
				last = node.start;
			}
		};
		visit(traceOutline(text), 0, text.length);
	}
});

test('nesting in a text that consists only of tags is limited in depth', () => {
	const deep = traceOutline('<think>'.repeat(50_000));
	let depth = 0;
	for (let node = deep[0]; node !== undefined; node = node.children[0]) depth++;
	assert.equal(depth, 32);
	const boxes = traceOutline('\\boxed{'.repeat(20_000));
	assert.ok(boxes.length > 1000);
});
