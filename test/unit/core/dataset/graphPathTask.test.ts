import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { createTask } from '../../../../src/core/dataset/createTask.ts';
import type { TaskDataset } from '../../../../src/protocol/recipeKeys/recipe.ts';

/** A problem, read from its prompt alone. */
function readPrompt(prompt: string) {
	const [, list = '', start = '', ends = ''] = /^([a-z ]+):([a-z])\?([a-z]{2})$/.exec(prompt) ?? assert.fail(prompt);
	return { edges: list.split(' '), start, ends: [...ends] };
}

/** Returns the distance to every reachable node. */
function distances(edges: readonly string[], start: string): Map<string, number> {
	const found = new Map([[start, 0]]);
	const queue = [start];
	for (const node of queue) {
		for (const [from, to] of edges.map((edge) => [...edge] as [string, string])) {
			if (from !== node || found.has(to)) continue;
			found.set(to, (found.get(node) as number) + 1);
			queue.push(to);
		}
	}
	return found;
}

function problemsOf(settings: Omit<TaskDataset, 'task'>, count: number) {
	const task = createTask({ task: 'graph-path', ...settings });
	return Array.from({ length: count }, (_, i) => task.sample(Random.of('graph-path', i)));
}

describe('graph-path', () => {
	for (const settings of [{}, { terms: 2, nodes: 26 }, { terms: 5, nodes: 14 }, { terms: 2, nodes: 6 }]) {
		it(`asks for the only end that can be reached from the start, ${JSON.stringify(settings)}`, () => {
			const { terms = 3, nodes = 12 } = settings;
			for (const { prompt, answer, solution } of problemsOf(settings, 1000)) {
				const { edges, start, ends } = readPrompt(prompt);
				assert.equal(new Set(edges).size, edges.length);
				assert.equal(new Set(edges.join('').replaceAll(' ', '')).size, nodes);
				const reached = distances(edges, start);
				assert.deepEqual(
					ends.filter((end) => reached.has(end)),
					[answer],
					prompt,
				);
				assert.equal(reached.get(answer), terms);
				const steps = solution.split(';');
				assert.equal(steps.length, terms);
				assert.ok(steps.every((step) => edges.includes(step)));
				assert.equal(steps[0]?.[0], start);
				assert.equal(steps.at(-1)?.[1], answer);
				for (const [i, step] of steps.entries()) if (i > 0) assert.equal(step[0], steps[i - 1]?.[1]);
			}
		});
	}

	it('cannot be answered from the order of the ends, or from their edges alone', () => {
		const problems = problemsOf({}, 4000);
		const share = (guess: (problem: ReturnType<typeof readPrompt>) => number) => {
			const correct = problems.filter(({ prompt, answer }) => {
				const read = readPrompt(prompt);
				const [a, b] = read.ends as [string, string];
				const preferred = guess({ ...read, ends: [a] }) - guess({ ...read, ends: [b] });
				return (preferred >= 0 ? a : b) === answer;
			});
			return correct.length / problems.length;
		};
		const guesses = {
			first: () => 0,
			name: ({ ends }: { ends: string[] }) => (ends[0] as string).charCodeAt(0),
			in: ({ edges, ends }: { edges: string[]; ends: string[] }) => edges.filter((edge) => edge[1] === ends[0]).length,
			out: ({ edges, ends }: { edges: string[]; ends: string[] }) => edges.filter((edge) => edge[0] === ends[0]).length,
			place: ({ edges, ends }: { edges: string[]; ends: string[] }) => edges.findIndex((edge) => edge[1] === ends[0]),
		};
		for (const [name, guess] of Object.entries(guesses)) {
			assert.ok(Math.abs(share(guess) - 0.5) < 0.03, `${name}: ${share(guess)}`);
		}
	});

	it('branches in both directions', () => {
		const forward = problemsOf({}, 500).filter(({ prompt, solution }) => {
			const { edges } = readPrompt(prompt);
			return edges.some((edge) => edge[0] === solution[0] && edge !== solution.slice(0, 2));
		});
		const backward = problemsOf({}, 500).filter(({ prompt, answer }) => {
			return readPrompt(prompt).edges.filter((edge) => edge[1] === answer).length > 1;
		});
		assert.ok(forward.length > 50 && backward.length > 50, `${forward.length}, ${backward.length}`);
	});

	it('requires enough nodes for both paths', () => {
		assert.throws(() => createTask({ task: 'graph-path', terms: 6, nodes: 13 }), /at least 14/);
		assert.throws(() => createTask({ task: 'graph-path', length: 3 }), /no setting "length"/);
	});

	it('checks only the answer, and rejects every completion for a row without one', () => {
		const { verify } = createTask({ task: 'graph-path' });
		assert.ok(verify({ answer: 'c', row: {} }, ' c\n'));
		for (const wrong of ['', 'C', 'cc', 'c d', 'c;', 'abc']) assert.ok(!verify({ answer: 'c', row: {} }, wrong), wrong);
		assert.ok(!verify({ answer: null, row: {} }, 'c'));
	});
});
