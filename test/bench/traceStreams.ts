import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { Random } from '../../src/base/random.ts';
import { openRun } from '../../src/runs/openRun.ts';
import { newestPython } from '../support/newestPrograms.ts';
import { zstdFile } from '../support/zstdFile.ts';
import { pythonSeconds, timed, words } from './foreignFiles.ts';
import type { Measurement } from './measurement.ts';

const chunkBytes = 64e6;
/** prime-rl's FRAME_BYTES (prime_rl/monitors/file/traces/chunks.py); lines can span frames. */
const frameBytes = 4 << 20;
const episodesInStep = 256;

/** Time to list the steps of prime-rl's streams, plain and compressed. */
export async function traceStreams(folder: string, megabytes: number, rounds: number): Promise<Measurement[]> {
	const path = join(folder, 'prime');
	const stream = join(path, 'monitors/file/traces/stream');
	await mkdir(stream, { recursive: true });
	const random = Random.of('bench', 2);
	let [written, episodes] = [0, 0];
	for (let chunk = 0; written < megabytes * 1e6; chunk++) {
		const lines: string[] = [];
		const size = Math.min(chunkBytes, megabytes * 1e6);
		for (let inChunk = 0; inChunk < size; inChunk += lines.at(-1)?.length as number) {
			lines.push(traceLine(random, episodes++));
		}
		const text = lines.join('');
		await writeFile(join(stream, `${String(chunk).padStart(5, '0')}.jsonl`), text);
		written += text.length;
	}
	const steps = Math.ceil(episodes / episodesInStep);
	const list = async () => {
		const { seconds, value } = await timed(async () => (await openRun(path)).steps());
		if (value.length !== steps) throw new Error(`${value.length} of ${steps} steps were listed`);
		return seconds;
	};
	const plain: number[] = [];
	for (let round = 0; round < rounds; round++) plain.push(await list());
	for (const name of await readdir(stream)) {
		const text = await readFile(join(stream, name), 'utf8');
		const frames: string[] = [];
		for (let at = 0; at < text.length; at += frameBytes) frames.push(text.slice(at, at + frameBytes));
		await writeFile(join(stream, `${name}.zst`), zstdFile(frames, true));
		await rm(join(stream, name));
	}
	const [sealed, decompressed, theirs]: number[][] = [[], [], []];
	const python = await newestPython('trackers');
	for (let round = 0; round < rounds; round++) {
		sealed?.push(await list());
		decompressed?.push((await timed(() => decompress(stream))).seconds);
		theirs?.push(pythonSeconds(python, decoded, stream));
	}
	const name = `prime-rl streams of ${(written / 1e6).toFixed(0)} MB of text`;
	return [
		{ name: `${name}: list steps, plain`, unit: 's', samples: plain },
		{ name: `${name}: list steps, compressed`, unit: 's', samples: sealed ?? [] },
		{ name: `${name}: decompression in one thread`, unit: 's', samples: decompressed ?? [] },
		{ name: `${name}: json.loads in Python`, unit: 's', samples: theirs ?? [] },
	];
}

/** Decompresses all frames without doing anything else. */
async function decompress(stream: string): Promise<void> {
	for (const name of await readdir(stream)) {
		const data = await readFile(join(stream, name));
		const frames = data.readUInt32LE(data.length - 9);
		const table = data.length - 9 - 8 * frames;
		for (let frame = 0, at = 0; frame < frames; frame++) {
			const length = data.readUInt32LE(table + 8 * frame);
			zstdDecompressSync(data.subarray(at, at + length));
			at += length;
		}
	}
}

const decoded = `
import sys, time, json, glob
import pyarrow as pa
t = time.perf_counter()
for path in sorted(glob.glob(sys.argv[1] + '/*.zst')):
    with pa.CompressedInputStream(pa.OSFile(path), 'zstd') as file:
        for line in file.read().splitlines():
            json.loads(line)['run']
print(time.perf_counter() - t)`;

function traceLine(random: Random, episode: number): string {
	const answer = words(random, 8000);
	const tokens = Array.from({ length: 1500 }, () => random.int(150_000));
	const logprobs = tokens.map((token) => -token / 1e5);
	const trace = {
		version: '0.4',
		id: `t${episode}`,
		task: { type: 't', key: `k${episode >> 3}`, data: { prompt: 'What?' } },
		agent: { name: 'policy', trainable: true },
		nodes: [
			{ message: { role: 'user', content: 'What?' }, sampled: false, token_ids: [1, 2] },
			{
				parent: 0,
				message: { role: 'assistant', content: answer },
				sampled: true,
				token_ids: tokens,
				mask: tokens.map(() => true),
				logprobs,
			},
		],
		rewards: { correct: { score: episode % 2, weight: 1 } },
	};
	const run = { id: 'r', step: Math.floor(episode / episodesInStep) };
	return `${JSON.stringify({ id: `e${episode}`, env: { name: 'sums' }, task: trace.task, group: { id: `g${episode >> 3}` }, run, ok: true, errors: [], traces: [trace] })}\n`;
}
