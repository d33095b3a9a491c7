import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { columnOf, rangesOf } from '../../../../../src/runs/importers/formats/contextParallel.ts';
import { openRun } from '../../../../../src/runs/openRun.ts';
import { root } from '../../../../scripts/paths.ts';
import { fixtureFolder, readAll } from '../foreignFixtures.ts';

const source = join(root, 'test/fixtures/miles-context-parallel/train_data');

/** Returns the rollouts of miles' samples with training data only from the files that `accepts` selects. */
async function withRanks(accepts: (file: string) => boolean) {
	const folder = await mkdtemp(join(tmpdir(), 'miles-'));
	try {
		await cp(fixtureFolder('miles'), folder, { recursive: true });
		await rm(join(folder, 'train_data'), { recursive: true });
		for (const file of await readdir(source)) {
			if (accepts(file)) await cp(join(source, file), join(folder, 'train_data', file));
		}
		const run = await openRun(folder);
		const lines = (await readAll(run)).rollouts.map(({ line }) => line);
		assert.deepEqual(run.faults, []);
		return lines;
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

/** Values that miles_context_parallel.py gave to the tokens of a sample. */
const valuesOf = (sample: number, length: number) => Array.from({ length }, (_, i) => -sample - i / 64);

describe('values of ranks with context parallelism', () => {
	it('belong to the tokens that miles computed them for, packed or padded', async () => {
		const lines = await withRanks(() => true);
		assert.equal(lines.length, 16);
		for (const { row, advantage, tokens } of lines) {
			const [sample, length] = [row as number, 4 + ((row as number) % 8)];
			assert.equal(tokens?.text.length, length);
			const [first, ...others] = valuesOf(sample, length);
			// -0 is written for the first token of the first sample.
			assert.deepEqual(
				tokens.oldLogprob?.map((value) => (value ?? Number.NaN) + 0),
				[(first ?? 0) + 0, ...others],
			);
			assert.deepEqual(tokens.refLogprob?.[length - 1], 2 * (others.at(-1) ?? Number.NaN));
			assert.equal(advantage, (sample % 8) / 4 - 1);
			assert.deepEqual(new Set(tokens.advantage), new Set([advantage]));
		}
	});

	it('are null for tokens whose rank is missing', async () => {
		const lines = await withRanks((file) => file !== '0_3.pt' && file !== '1_2.pt');
		let known = 0;
		for (const { row, advantage, tokens } of lines) {
			const wanted = valuesOf(row as number, 4 + ((row as number) % 8)).map((value) => value + 0);
			const values = tokens?.oldLogprob ?? wanted.map(() => null);
			assert.deepEqual(
				values.map((value) => (value === null ? null : value + 0)),
				wanted.map((value, i) => (values[i] === null ? null : value)),
			);
			const own = values.filter((value) => value !== null).length;
			known += own;
			// If any token's advantage is missing, it is unknown whether all tokens share one.
			assert.equal(advantage === null, own < wanted.length);
		}
		// Number of values in the other files of the last stage.
		assert.equal(known, 52);
	});

	it('cover every token except one without a predecessor, whatever the lengths', () => {
		for (const size of [2, 3, 8]) {
			for (const total of [1, 2, 7, 16, 97]) {
				for (let response = 1; response <= total; response++) {
					for (const divided of [total, total + 5]) {
						const owners = Array.from({ length: response }, () => 0);
						for (let rank = 0; rank < size; rank++) {
							for (const [from, to] of rangesOf({ total, response, divided }, rank, size)) {
								for (let i = from; i < to; i++) owners[i] = (owners[i] ?? Number.NaN) + 1;
							}
						}
						const whole = response === total ? [0, ...owners.slice(1).map(() => 1)] : owners.map(() => 1);
						assert.deepEqual(owners, whole, `${size} ranks, ${response} of ${total} tokens, ${divided}`);
					}
				}
			}
		}
	});

	it('are omitted if it is unclear which tokens they belong to', () => {
		// Eight tokens, six of them in the response; rank 0 of 2 has positions 0, 1, 6 and 7: tokens 0, 5 of the response.
		const record = {
			tokens: [1, 2, 3, 4, 5, 6, 7, 8],
			total_lengths: 8,
			response_lengths: 6,
			qkv_format: 'thd',
			cp_rank: 0,
			cp_size: 2,
			log_probs: [-1, -6],
		};
		const of = (...records: object[]) => columnOf(records as Record<string, unknown>[], 'log_probs', 6);
		assert.deepEqual(of(record), [-1, null, null, null, null, -6]);
		const wrong = [
			{ log_probs: [-1] },
			{ log_probs: [-1, -2, -6] },
			{ log_probs: [] },
			{ log_probs: 'text' },
			{ cp_rank: 2 },
			{ cp_rank: -1 },
			{ cp_rank: 0.5 },
			{ cp_rank: undefined },
			{ cp_size: undefined },
			{ cp_size: 1 },
			{ cp_size: 0 },
			{ cp_size: Number.NaN },
			{ total_lengths: 9 },
			{ total_lengths: 5 },
			{ total_lengths: 2 ** 50, response_lengths: 2 ** 50 },
			{ response_lengths: 5 },
			{ qkv_format: 'bshd' },
			{ qkv_format: 'bshd', max_seq_lens: 4 },
			{ tokens: [1, 2, 3] },
		];
		for (const change of wrong) assert.equal(of({ ...record, ...change }), null, JSON.stringify(change));
		// A rank left over from an earlier attempt with more ranks adds nothing; neither do copies of a rank.
		const other = { ...record, cp_rank: 1, cp_size: 4, log_probs: [-9, -9] };
		assert.deepEqual(of(record, other, { ...record, log_probs: [-7, -8] }), [-1, null, null, null, null, -6]);
		const all = { ...record, log_probs: [-1, -2, -3, -4, -5, -6] };
		assert.deepEqual(of(record, all), all.log_probs);
	});
});
