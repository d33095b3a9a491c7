import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Random } from '../../../src/base/random.ts';
import { turnsOf } from '../../../src/core/trace/messageText.ts';
import type { RolloutLine } from '../../../src/protocol/rolloutLine.ts';
import { canContain } from '../../../src/rolloutIndex/rawTexts.ts';
import { patternOf } from '../../../src/rolloutIndex/textSearch.ts';
import { openRun } from '../../../src/runs/openRun.ts';
import { fixtureFolder, fixtures } from '../runs/importers/foreignFixtures.ts';

const { signal } = new AbortController();

function textsOf({ completion }: RolloutLine): string[] {
	if (typeof completion === 'string') return [completion];
	return turnsOf(completion).flatMap(({ thinking, content, calls }) => [
		thinking ?? '',
		content,
		...calls.flatMap((call) => [call.name, call.arguments]),
	]);
}

/** Yields parts of texts, each of which a search must find. */
function* partsOf(texts: readonly string[], random: Random): Generator<string> {
	for (const text of texts) {
		for (let i = 0; i < Math.min(12, text.length); i++) {
			const start = random.int(text.length);
			yield text.slice(start, start + 3 + random.int(10)).toWellFormed();
		}
	}
}

test('no file that contains text of a completion is skipped', async () => {
	const random = Random.of(1, 'parts');
	const scanned = new Set<string>();
	let filtered = 0;
	for (const { name, format } of fixtures) {
		const run = await openRun(fixtureFolder(name), { format });
		for (const split of ['train', 'validation'] as const) {
			for (const step of (await run.steps(split)).slice(0, 3)) {
				const opened = await run.open(step, split);
				if (!opened.textFiles) {
					await opened.close();
					continue;
				}
				scanned.add(format);
				const { paths, calls } = opened.textFiles;
				for await (const { rollout } of opened.rollouts()) {
					for (const part of partsOf(rollout === null ? [] : textsOf(rollout), random)) {
						for (const caseSensitive of [true, false]) {
							const pattern = patternOf({ pattern: part, regex: false, caseSensitive });
							const literals = calls ? pattern.messageLiterals : pattern.literals;
							if (literals === null) continue;
							filtered++;
							assert.ok(await canContain(run.folder, paths, literals, signal), `${name}, step ${step}: ${part}`);
						}
					}
				}
				const none = patternOf({ pattern: 'zqxzqx', regex: false, caseSensitive: false });
				assert.equal(await canContain(run.folder, paths, none.messageLiterals ?? [], signal), false);
				await opened.close();
			}
		}
	}
	assert.deepEqual([...scanned].sort(), ['nemo-rl', 'prime-rl', 'skyrl', 'verifiers', 'verifiers-legacy', 'verl']);
	assert.ok(filtered > 1000, `${filtered} parts`);
});

test('reformatted values are found, and so are words that readers insert', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'raw-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const args = '{"count": 1.50, "city": "Ul\\u006d", "ratio": NaN, "\\u4e2d\\u6587": [1, 2]}';
	const call = `{"id": "a", "function": {"name": "find", "arguments": ${args}}}`;
	const content = '[{"type": "image_url"}, {"kind": "odd"}, "Caf\\u00e9 \\"Z\\u00fcrich\\""]';
	const message = `{"role": "assistant", "content": ${content}, "tool_calls": [${call}]}`;
	const row = `{"example_id": 1, "reward": 1, "prompt": "?", "completion": [${message}]}\n`;
	await writeFile(join(folder, 'results.jsonl'), row.replaceAll('\\u006d', 'm'));
	await writeFile(join(folder, 'metadata.json'), '{}');
	const run = await openRun(folder);
	const opened = await run.open(0);
	const texts: string[] = [];
	for await (const { rollout } of opened.rollouts()) texts.push(...(rollout === null ? [] : textsOf(rollout)));
	await opened.close();
	assert.ok(texts.includes('{"count":1.5,"city":"Ulm","ratio":null,"中文":[1,2]}'), texts.join('\n'));
	const { paths, calls } = opened.textFiles ?? { paths: [], calls: false };
	assert.equal(calls, true);
	let filtered = 0;
	for (const text of texts) {
		for (let start = 0; start < text.length; start++) {
			for (let length = 1; length <= 12; length++) {
				const pattern = patternOf({ pattern: text.slice(start, start + length), regex: false, caseSensitive: true });
				if (pattern.messageLiterals === null) continue;
				filtered++;
				assert.ok(await canContain(folder, paths, pattern.messageLiterals, signal), pattern.source);
			}
		}
	}
	assert.ok(filtered > 100, `${filtered} parts`);
	// In strings that are stored verbatim, numbers do not change.
	assert.notEqual(patternOf({ pattern: '12345', regex: false, caseSensitive: true }).literals, null);
});
