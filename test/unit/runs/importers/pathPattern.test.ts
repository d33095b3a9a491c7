import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { compareNames, filledPath, PathPattern } from '../../../../src/runs/importers/pathPattern.ts';

const match = (pattern: string, path: string) => new PathPattern(pattern).match(path);

describe('path patterns', () => {
	it('match names, parts and steps within one segment', () => {
		assert.deepEqual(match('rollouts/{step}.jsonl', 'rollouts/0012.jsonl'), { step: '0012' });
		assert.equal(match('rollouts/{step}.jsonl', 'rollouts/x.jsonl'), null);
		assert.equal(match('rollouts/{step}.jsonl', 'rollouts/1/2.jsonl'), null);
		assert.deepEqual(match('{mode}_step_{step}_epoch_{e}/a.json', 'val_x_step_3_epoch_0/a.json'), {
			mode: 'val_x',
			step: '3',
			e: '0',
		});
		assert.equal(match('a.b', 'axb'), null);
		assert.deepEqual(match('*.jsonl', 'x.jsonl'), {});
	});

	it('match any number of folders with **, except hidden ones', () => {
		assert.deepEqual(match('runs/**/{name}.json', 'runs/x.json'), { name: 'x' });
		assert.deepEqual(match('runs/**/{name}.json', 'runs/a/b/x.json'), { name: 'x' });
		assert.equal(match('runs/**/{name}.json', 'runs/.git/x.json'), null);
	});

	it('match hidden names only if they start with a dot themselves', () => {
		assert.equal(match('{name}/x', '.art/x'), null);
		assert.deepEqual(match('.art/{name}', '.art/x'), { name: 'x' });
		assert.deepEqual(match('.{name}/x', '.art/x'), { name: 'art' });
	});

	it('can be filled with the parts of another path', () => {
		assert.equal(filledPath('it_{step}/{source}.json', { step: '007', source: 'train' }), 'it_007/train.json');
		assert.equal(filledPath('it_{step}/{other}.json', { step: '007' }), null);
	});

	it('sort names in natural order', () => {
		const names = ['step_10', 'step_2', 'step_02', 'a', 'step_2b', 'step_1/z9', 'step_1/z10'];
		assert.deepEqual([...names].sort(compareNames), [
			'a',
			'step_1/z9',
			'step_1/z10',
			'step_02',
			'step_2',
			'step_2b',
			'step_10',
		]);
	});

	it('sort any names consistently (2000 triples)', () => {
		const random = Random.of('names');
		const name = () => Array.from({ length: random.int(7) }, () => '01a29_'[random.int(6)]).join('');
		for (let i = 0; i < 2000; i++) {
			const [a, b, c] = [name(), name(), name()];
			assert.equal(Math.sign(compareNames(a, b)), -Math.sign(compareNames(b, a)) + 0, `${a} ${b}`);
			assert.equal(compareNames(a, b) === 0, a === b);
			if (compareNames(a, b) <= 0 && compareNames(b, c) <= 0) assert.ok(compareNames(a, c) <= 0, `${a} ${b} ${c}`);
		}
	});
});
