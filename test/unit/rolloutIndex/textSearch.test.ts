import assert from 'node:assert/strict';
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { RolloutFilter, TextHit, TextQuery } from '../../../src/protocol/rolloutIndex.ts';
import { canContain } from '../../../src/rolloutIndex/rawTexts.ts';
import type { RolloutIndex } from '../../../src/rolloutIndex/rolloutIndex.ts';
import { ThreadPool } from '../../../src/rolloutIndex/threadPool.ts';
import { openRun } from '../../../src/runs/openRun.ts';
import { fixtureFolder } from '../runs/importers/foreignFixtures.ts';
import { writeFiles } from '../runs/importers/madeRun.ts';
import { firstTrlSteps, folderFor, labFor, rolloutLine, runIn } from './ownRun.ts';

async function search(
	rolloutIndex: RolloutIndex,
	query: Partial<TextQuery>,
	filter: RolloutFilter = {},
	limit = 100_000,
	signal?: AbortSignal,
) {
	const hits: TextHit[] = [];
	const bytes: number[] = [];
	const totals = new Set<number>();
	const asked = { pattern: '', regex: false, caseSensitive: true, ...query };
	const outcome = await rolloutIndex.search(
		{ search: 's', query: asked, filter, limit },
		(news) => {
			hits.push(...news.hits);
			bytes.push(news.bytes);
			totals.add(news.total);
		},
		signal,
	);
	assert.equal(outcome.hits, hits.length);
	assert.deepEqual(
		bytes,
		bytes.toSorted((a, b) => a - b),
	);
	return { ...outcome, found: hits, totals: [...totals] };
}

const key = ({ split, step, group, index }: Pick<TextHit, 'split' | 'step' | 'group' | 'index'>) =>
	`${split} ${step} ${group} ${index}`;

interface RolloutText {
	readonly key: string;
	readonly text: string;
}

/** Reads the text of every rollout of a run. */
async function textsOf(run: string): Promise<RolloutText[]> {
	const content = await openRun(run);
	const texts: RolloutText[] = [];
	for (const split of ['train', 'validation'] as const) {
		for (const step of await content.steps(split)) {
			const rollouts = await content.open(step, split);
			for await (const { rollout, place } of rollouts.rollouts()) {
				if (rollout === null || typeof rollout.completion !== 'string') continue;
				texts.push({ key: key({ split, step, group: place.group, index: place.index }), text: rollout.completion });
			}
			await rollouts.close();
		}
	}
	return texts;
}

/** Returns the keys of all texts that match, by a linear scan. */
const scan = (texts: readonly RolloutText[], expression: RegExp): string[] =>
	texts.filter(({ text }) => expression.test(text)).map((one) => one.key);

describe('text search', () => {
	it('returns the same hits as a full scan, in the same order', async (context) => {
		const run = await runIn(await folderFor(context), { rollouts: 120, perGroup: 4, groups: 10, bytes: 2000 });
		const odd = ['naïve café', '数学が好き', 'a/b "c" \\d', 'tab\tline\nend', '\u2028 \ud83d\ude00', 'KELVIN \u212a'];
		const lines = odd.map((completion, index) =>
			JSON.stringify(rolloutLine({ step: 3, group: 90, index, completion })),
		);
		const escaped = lines.map((line) =>
			line
				.replace('"group":90', '"group":91')
				.replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
				.replaceAll('a/b', 'a\\/b'),
		);
		await appendFile(join(run, 'rollouts', 'step_000003.jsonl'), [...lines, ...escaped, ''].join('\n'));
		const rolloutIndex = await labFor(context);
		await rolloutIndex.setRuns([run]);
		const all = await textsOf(run);
		const expressions = [
			'remaining steps',
			'probability is \\d+/7',
			'Wait, \\d+ - \\d+',
			'\\d{5}',
			'caf(é|e)',
			'数学|好き',
			'"c" ',
			'line\nend',
			'\u{1F600}',
			'^naïve',
			'kelvin k',
			'x = (\\d)\\d?\\1,',
		];
		for (const pattern of expressions) {
			for (const caseSensitive of [true, false]) {
				const { found, complete, limits } = await search(rolloutIndex, { pattern, regex: true, caseSensitive });
				const expected = scan(all, new RegExp(pattern, caseSensitive ? 'su' : 'sui'));
				assert.deepEqual(found.map(key), expected, `/${pattern}/ ${caseSensitive}`);
				assert.ok(complete);
				assert.deepEqual(limits, []);
			}
		}
		assert.ok((await search(rolloutIndex, { pattern: '\\frac{' })).hits > 0);
	});

	it('finds texts before, in and after lines that are longer than the window', async (context) => {
		const run = await runIn(await folderFor(context));
		const completions = ['needle', `${'x'.repeat(3 << 20)}needle`, ...Array<string>(300).fill('a needle')];
		const lines = completions.map((completion, index) => JSON.stringify(rolloutLine({ completion, index })));
		await writeFile(join(run, 'rollouts', 'step_000001.jsonl'), `${lines.join('\n')}\n`);
		const rolloutIndex = await labFor(context);
		const { found } = await search(rolloutIndex, { pattern: 'needle' }, { runs: [run], steps: { to: 1 } });
		assert.deepEqual(
			found.map(({ index }) => index),
			[...completions.keys()],
		);
	});

	it('shows the position of the first match and counts all matches', async (context) => {
		const run = await runIn(await folderFor(context));
		const completion = `${'a'.repeat(200)} needle ${'b'.repeat(200)} NEEDLE needle`;
		await writeFile(join(run, 'rollouts', 'step_000001.jsonl'), `${JSON.stringify(rolloutLine({ completion }))}\n`);
		const rolloutIndex = await labFor(context);
		const { found } = await search(rolloutIndex, { pattern: 'needle' }, { runs: [run], steps: { to: 1 } });
		const [hit] = found;
		assert.deepEqual([hit?.run, hit?.count, hit?.match], [run, 2, 'needle']);
		assert.equal(hit?.before, `${'a'.repeat(79)} `);
		assert.equal(hit?.after, ` ${'b'.repeat(79)}`);
	});

	it('respects a filter', async (context) => {
		const run = await runIn(await folderFor(context), { rollouts: 150, perGroup: 5, groups: 10, bytes: 2000 });
		const rolloutIndex = await labFor(context);
		const filter = { runs: [run], steps: { from: 2 }, correct: true, ranges: [{ column: 'rewards.length', to: 0.5 }] };
		const { found } = await search(rolloutIndex, { pattern: 'Wait' }, filter);
		const all = await search(rolloutIndex, { pattern: 'Wait' }, { runs: [run] });
		const { refs } = await rolloutIndex.rollouts({ filter, limit: 1000 });
		const wanted = new Set((refs ?? []).map((ref) => ref && key(ref)));
		assert.deepEqual(
			found.map(key),
			all.found.map(key).filter((one) => wanted.has(one)),
		);
		assert.ok(found.length > 5 && found.length < all.found.length);
	});

	it('covers runs by other trainers and message lists', async (context) => {
		const rolloutIndex = await labFor(context);
		for (const name of ['trl-run', 'verl', 'art'] as const) {
			const run = name === 'trl-run' ? await firstTrlSteps(context) : fixtureFolder(name);
			const expression = /answer|[0-9]{2}/;
			const { found, bytes, totals } = await search(
				rolloutIndex,
				{ pattern: expression.source, regex: true },
				{ runs: [run] },
			);
			assert.deepEqual([bytes, totals], [0, [0]], 'the sizes of the steps are unknown');
			const expected = scan(await textsOf(run), expression);
			const ofMessages = found.filter((hit) => !expected.includes(key(hit)));
			assert.deepEqual(found.filter((hit) => !ofMessages.includes(hit)).map(key), expected, name);
			if (name === 'art') assert.ok(ofMessages.length > 0);
			await rolloutIndex.index(run);
			const { refs } = await rolloutIndex.rollouts({ filter: { runs: [run] }, limit: 3 });
			const ref = refs?.[0];
			assert.ok(ref);
			const filter = { runs: [run], split: ref.split, groups: [{ step: ref.step, group: ref.group }] };
			const inGroup = await search(rolloutIndex, { pattern: expression.source, regex: true }, filter);
			assert.deepEqual(
				inGroup.found.map(key),
				found.filter((hit) => hit.split === ref.split && hit.step === ref.step && hit.group === ref.group).map(key),
			);
		}
	});

	it('counts bytes only if the sizes of all searched files are known', async (context) => {
		const own = await runIn(await folderFor(context), { rollouts: 20, perGroup: 4, groups: 10, bytes: 2000 });
		const rolloutIndex = await labFor(context);
		const known = await search(rolloutIndex, { pattern: 'Wait' }, { runs: [own] });
		assert.ok(known.bytes > 20_000, `${known.bytes}`);
		assert.deepEqual(known.totals, [known.bytes]);
		const both = await search(rolloutIndex, { pattern: 'Wait' }, { runs: [own, fixtureFolder('verl')] });
		assert.ok(both.hits >= known.hits);
		assert.deepEqual([both.bytes, both.totals], [0, [0]]);
	});

	it('finds texts of other trainers however they are escaped, and skips files without them', async (context) => {
		const run = join(await folderFor(context), 'verl');
		const texts = [
			'naïve café',
			'Kaleidoscope',
			'a/b "c" \\d',
			'tab\tline\nend',
			'\ud83d\ude00',
			'KELVIN \u212a',
			'plain',
		];
		const row = (output: string, step: number) => ({ input: 'q', output, gts: '1', score: 1, step });
		const escapedAll = (json: string) =>
			json.replace(/(?<="output":")[^"]*/, (text) =>
				[...text].map((c) => (c === '\\' ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)).join(''),
			);
		const files: Record<string, string> = {
			'rollouts/1.jsonl': texts.map((text) => JSON.stringify(row(text, 1))).join('\n'),
			// As Python writes it.
			'rollouts/2.jsonl': texts
				.map((text) =>
					JSON.stringify(row(text, 2)).replace(
						/[\u0080-\uffff]/g,
						(c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
					),
				)
				.join('\n'),
			'rollouts/3.jsonl': escapedAll(JSON.stringify(row('Kaleidoscope', 3))),
			// The text crosses the boundary between two windows.
			'rollouts/4.jsonl': JSON.stringify(row(`${'x'.repeat((2 << 20) - 20)}Kaleidoscope`, 4)),
			'rollouts/5.jsonl': JSON.stringify(row('nothing', 5)),
		};
		await writeFiles(run, files);
		const rolloutIndex = await labFor(context);
		await rolloutIndex.setRuns([run]);
		const all = await textsOf(run);
		assert.equal(all.length, 17);
		for (const pattern of [
			'Kal[a-z]+scope',
			'café',
			'"c"',
			'line\nend',
			'\u{1F600}',
			'kelvin k',
			'naïve',
			'nothing',
			'Not',
		]) {
			for (const caseSensitive of [true, false]) {
				const { found, complete } = await search(rolloutIndex, { pattern, regex: true, caseSensitive });
				const expected = scan(all, new RegExp(pattern, caseSensitive ? 'su' : 'sui'));
				assert.deepEqual(found.map(key), expected, `/${pattern}/ ${caseSensitive}`);
				assert.ok(complete);
			}
		}
		const opened = await (await openRun(run)).open(5);
		const literals = [{ bytes: Buffer.from('Kaleidoscope'), ignoreCase: false }];
		const holds = (step: number) => canContain(run, [`rollouts/${step}.jsonl`], literals, new AbortController().signal);
		assert.deepEqual(opened.textFiles, { paths: ['rollouts/5.jsonl'], calls: false });
		assert.deepEqual(await Promise.all([1, 2, 3, 4, 5].map(holds)), [true, true, true, true, false]);
		await opened.close();
	});

	it('reports when the hit limit is reached', async (context) => {
		const run = await runIn(await folderFor(context));
		const rolloutIndex = await labFor(context);
		const { hits, complete, limits } = await search(rolloutIndex, { pattern: 'e' }, { runs: [run] }, 7);
		assert.deepEqual([hits, complete, limits], [7, false, ['Stopped at 7 hits.']]);
	});

	it('skips and reports rollouts on which an expression does not terminate', async (context) => {
		const run = await runIn(await folderFor(context));
		const lines = Array.from({ length: 6 }, (_, index) =>
			JSON.stringify(rolloutLine({ index, completion: index % 3 === 1 ? `${'a'.repeat(40)}b needle` : `aaa needle` })),
		);
		await writeFile(join(run, 'rollouts', 'step_000001.jsonl'), `${lines.join('\n')}\n`);
		const rolloutIndex = await labFor(context);
		const { found, complete, limits } = await search(
			rolloutIndex,
			{ pattern: '(a+)+ needle', regex: true },
			{ runs: [run], steps: { to: 1 } },
		);
		assert.deepEqual(
			found.map(({ index }) => index),
			[0, 2, 3, 5],
		);
		assert.equal(complete, false);
		assert.match(limits.join(), /longer than 1 s on 2 rollouts/);
	});

	it('abandons an expression that does not terminate on many rollouts, and can be canceled meanwhile', async (context) => {
		const run = await runIn(await folderFor(context));
		const lines = Array.from({ length: 100 }, (_, index) =>
			JSON.stringify(rolloutLine({ index, completion: `${'a'.repeat(40)}b` })),
		);
		await writeFile(join(run, 'rollouts', 'step_000001.jsonl'), `${lines.join('\n')}\n`);
		const rolloutIndex = await labFor(context);
		const controller = new AbortController();
		setTimeout(() => controller.abort(), 300);
		const asked = search(
			rolloutIndex,
			{ pattern: '(a+)+$', regex: true },
			{ runs: [run], steps: { to: 1 } },
			10,
			controller.signal,
		);
		await assert.rejects(asked, { reason: 'cancelled' });
		// The threads are available again.
		assert.equal((await search(rolloutIndex, { pattern: 'aab' }, { runs: [run], steps: { to: 1 } })).hits, 100);
	});

	it('ends idle threads, and starts others when needed', async (context) => {
		const run = await runIn(await folderFor(context));
		const sharedThreads = new ThreadPool(2, 20);
		context.after(() => sharedThreads.dispose());
		const rolloutIndex = await labFor(context, { sharedThreads });
		const hits = [];
		for (let i = 0; i < 2; i++) {
			hits.push((await search(rolloutIndex, { pattern: 'e' }, { runs: [run] })).hits);
			while (sharedThreads.count > 0) await wait(5);
		}
		assert.ok((hits[0] as number) > 0);
		assert.equal(hits[1], hits[0]);
	});

	it('rejects an invalid expression', async (context) => {
		const rolloutIndex = await labFor(context);
		await assert.rejects(search(rolloutIndex, { pattern: '(', regex: true }), { reason: 'invalid' });
		await assert.rejects(search(rolloutIndex, { pattern: '\\p{Nothing}', regex: true }), { reason: 'invalid' });
	});
});
