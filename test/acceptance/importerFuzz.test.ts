/**
 * Fuzzes all importers with 90,000 damaged files from fixed seeds, on all processors: no crashes, no hangs over 2 s,
 * and no silent data loss. `--count N` and `--from N` run a subset. Also compares parts of damaged JSON with those of the
 * parsed text.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { node, root } from '../scripts/paths.ts';
import { checkDamagedLines, checkDamagedValues } from '../support/damagedJson.ts';
import { type FuzzCase, fuzzCase, fuzzedFormats } from '../support/importerFuzz.ts';

const first = Number(process.env.CHECK_FROM ?? 0);
const cases = Number(process.env.CHECK_COUNT ?? 90_000);
const chunk = 500;
const longestMs = 2000;
/** A case without output for this long counts as hung. */
const silenceMs = 30_000;

type Line = { readonly begins: number } | (FuzzCase & { readonly heapMb: number });

/** Runs cases in a separate process and attributes a crash or hang to the case that was running. */
async function runChunk(from: number, to: number): Promise<(FuzzCase & { readonly heapMb: number })[]> {
	const results: (FuzzCase & { readonly heapMb: number })[] = [];
	for (let next = from; next < to; ) {
		const child = spawn(
			node,
			['--max-old-space-size=1024', join(root, 'test/support/fuzzChunk.ts'), `${next}`, `${to}`],
			{
				stdio: ['ignore', 'pipe', 'inherit'],
			},
		);
		let started = next;
		let silence = setTimeout(() => child.kill('SIGKILL'), silenceMs);
		const ended = new Promise<string>((resolve) => {
			child.on('exit', (code, signal) => resolve(`the process ended with ${signal ?? code}`));
		});
		for await (const text of createInterface({ input: child.stdout })) {
			clearTimeout(silence);
			silence = setTimeout(() => child.kill('SIGKILL'), silenceMs);
			const line = JSON.parse(text) as Line;
			if ('begins' in line) started = line.begins;
			else {
				results.push(line);
				next = line.seed + 1;
			}
		}
		clearTimeout(silence);
		const how = await ended;
		if (next >= to) break;
		results.push({ seed: started, name: 'unknown', millis: silenceMs, problem: how, counts: null, heapMb: 0 });
		next = started + 1;
	}
	return results;
}

describe('importers with damaged files', () => {
	it(`read or report every record in ${cases} damaged files`, async (context) => {
		const results: Awaited<ReturnType<typeof runChunk>> = [];
		const end = first + cases;
		let next = first;
		const runChunks = async () => {
			while (next < end) {
				const from = next;
				next = Math.min(from + chunk, end);
				const part = await runChunk(from, next);
				results.push(...part);
				for (const { seed, name, problem } of part) if (problem !== null) console.error(`${seed} ${name}: ${problem}`);
				console.error(`${results.length} of ${cases} files`);
			}
		};
		await Promise.all(Array.from({ length: availableParallelism() }, runChunks));
		// Another process may have used the CPU, so rerun slow cases once on their own.
		const slow: FuzzCase[] = [];
		for (const { seed, millis } of results) if (millis > longestMs) slow.push(await fuzzCase(seed));
		const counts = results.flatMap((result) => result.counts ?? []);
		const sum = (of: (one: NonNullable<FuzzCase['counts']>) => number) => counts.reduce((all, one) => all + of(one), 0);
		const times = results.map(({ millis }) => millis).sort((a, b) => a - b);
		context.diagnostic(`${results.length} files of ${fuzzedFormats.length} formats`);
		context.diagnostic(
			`records: ${sum((one) => one.total)}, read ${sum((one) => one.read)}, skipped ${sum((one) => one.skipped)}`,
		);
		context.diagnostic(
			`time a file: median ${times[Math.floor(times.length / 2)]?.toFixed(0)} ms, longest ${times.at(-1)?.toFixed(0)} ms`,
		);
		context.diagnostic(`largest process: ${Math.max(...results.map(({ heapMb }) => heapMb))} MB`);
		assert.equal(results.length, cases);
		assert.deepEqual(
			results.filter(({ problem }) => problem !== null).map(({ seed, name, problem }) => ({ seed, name, problem })),
			[],
		);
		assert.deepEqual(
			slow.filter(({ millis }) => millis > longestMs).map(({ seed, name, millis }) => ({ seed, name, millis })),
			[],
		);
	});
});

describe('parts of damaged JSON', () => {
	it('match those of the parsed text in 10,000 lines, and so do the steps', () => checkDamagedLines(10_000));

	it('are accepted exactly if the parser accepts the text, in 20,000 strings and lists', () =>
		checkDamagedValues(20_000));
});
