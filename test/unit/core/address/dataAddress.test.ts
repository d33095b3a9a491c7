import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { type DataAddress, formatAddress, parseAddress } from '../../../../src/core/address/dataAddress.ts';

const names = ['run', 'a b', 'häßlich', 'x%2Fy', 'a?b#c', '~1', 'r.1-2_3', '日本', '"><img>'];

function anyAddress(random: Random): DataAddress {
	const run = random.pick(names);
	const split = random.pick(['train', 'validation'] as const);
	const at = () => random.int(1000);
	const [step, group, completion, first] = [at(), at(), at(), at()];
	return random.pick<DataAddress>([
		{ kind: 'run', run },
		{ kind: 'metric', run, metric: random.pick(['reward', 'rewards/accuracy', 'a?b&c=d#e']), step: null },
		{ kind: 'metric', run, metric: 'eval/pass@1', step },
		{ kind: 'step', run, split, step },
		{ kind: 'evaluation', run, name: random.pick(['held-out', 'a/b?c']), step: random.pick([step, null]) },
		{
			...{ kind: 'comparison', run, name: 'a/b?c', step: random.pick([step, null]) },
			other: { run: random.pick(names), name: 'held-out', step: random.pick([step, null]) },
		},
		{ kind: 'dataset', run: null, path: 'data/a b#1.jsonl', row: random.pick([null, step]) },
		{ kind: 'report', run, name: random.pick(['why-fell', 'A_1']), offset: random.pick([0, 7]) },
		{ kind: 'file', run, path: random.pick(['metrics.jsonl', 'rollouts/a b.jsonl']), offset: random.pick([0, 9]) },
		{ kind: 'search', run, search: random.pick(['a.jsonl', 'x y#1.json']), tree: 1 + at(), node: group },
		{ kind: 'search', run: null, search: 'searches/2026 mcts.jsonl', tree: 1, node: random.pick([null, step]) },
		{ kind: 'group', run, split, step, group },
		{ kind: 'completion', run, split, step, group, completion, tokens: null },
		{ kind: 'completion', run, split, step, group, completion, tokens: [first, first + at()] },
	]);
}

describe('run data addresses', () => {
	it('are formatted as documented', () => {
		const place = { run: 'my run', split: 'train', step: 12, group: 3, completion: 5 } as const;
		const text = 'rl://my%20run/step/12/group/3/completion/5#tokens=40-60';
		assert.equal(formatAddress({ kind: 'completion', ...place, tokens: [40, 60] }), text);
		assert.equal(
			formatAddress({ kind: 'group', ...place, split: 'validation' }),
			'rl://my%20run/step/12/group/3?split=validation',
		);
		assert.equal(
			formatAddress({ kind: 'metric', run: 'r', metric: 'rewards/format', step: 4 }),
			'rl://r/metric/rewards%2Fformat?step=4',
		);
		assert.equal(
			formatAddress({ kind: 'search', run: null, search: 'searches/a.jsonl', tree: 2, node: 5 }),
			'rl:///search/searches%2Fa.jsonl/node/5?tree=2',
		);
	});

	it('survive a round trip', () => {
		const random = Random.of(5, 'addresses');
		for (let i = 0; i < 2000; i++) {
			const address = anyAddress(random);
			assert.deepEqual(parseAddress(formatAddress(address)), address);
		}
	});

	for (const [text, why] of [
		['http://run/step/1', /start with rl:/],
		['rl://', /start with rl:/],
		['rl://..', /not a valid folder name/],
		['rl://a%2Fb', /not a valid folder name/],
		['rl://a%', /invalid percent-encoding/],
		['rl://a/report/..%2F..%2Fsecret', /does not have a valid name/],
		['rl://a/report/x?step=1', /not a supported parameter/],
		['rl://r/', /ends with/],
		['rl://r/step/x', /step must be a whole number/],
		['rl://r/step/-1', /step must be a whole number/],
		['rl://r/step/1e3', /step must be a whole number/],
		['rl://r/step/1/completion/2', /path is not recognized/],
		['rl://r/step/1/group/2/completion/3#tokens=9-4', /greater than the last/],
		['rl://r/step/1/group/2/completion/3#tokens=4', /tokens=FIRST-LAST/],
		['rl://r/step/1#tokens=1-2', /only completion addresses/],
		['rl://r/step/1?split=test', /train or validation/],
		['rl://r/step/1?split=train&split=train', /name=value/],
		['rl://r/step/1?other=1', /"other" is not a supported parameter/],
		['rl://r/metric/a/b', /path is not recognized/],
		['rl://r/evaluation/held-out?step=x', /step must be a whole number/],
		['rl://r/search/a%2Fb', /search name is not a valid file name/],
		['rl://r/file/..%2F..%2Fpasswd', /not inside the run folder/],
		['rl://r/file/%2Fetc%2Fpasswd', /not inside the run folder/],
		['rl:///search/..%2Fb', /search name is not a valid file name/],
		['rl:///search/%2Fetc%2Fpasswd', /search name is not a valid file name/],
		['rl://r/search/a/node/x', /node must be a whole number/],
		['rl://r/search/a?tree=0', /numbered from 1/],
		['rl:///step/1', /start with rl:/],
		['rl://r/evaluation/a?with=rl%3A%2F%2Fr%2Fstep%2F1', /"with" is not the address of an evaluation/],
		['rl://r/evaluation/a?with=b', /start with rl:/],
		['rl://r/dataset/a.jsonl', /does not belong to a run/],
		['rl:///dataset/..%2Fa.jsonl', /not inside the project folder/],
		['rl:///dataset/%2Fetc%2Fpasswd', /not inside the project folder/],
		['rl:///dataset/a.jsonl/row/-1', /row must be a whole number/],
		['rl:///dataset/a.jsonl?row=1', /"row" is not a supported parameter/],
		[`rl://${'r'.repeat(3000)}`, /exceeds/],
	] as const) {
		it(`refuse ${text.slice(0, 60)}`, () => {
			assert.throws(() => parseAddress(text), { reason: 'invalid', message: why });
		});
	}
});
