import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { crc32, zstdCompressSync } from 'node:zlib';
import { Random } from '../../src/base/random.ts';
import { RolloutsSource } from '../../src/extension/panels/rollouts/rolloutsSource.ts';
import { openRun } from '../../src/runs/openRun.ts';
import { newestPython } from '../support/newestPrograms.ts';
import { eventBytes } from '../unit/runs/importers/eventBytes.ts';
import { pythonSeconds, timed, words } from './foreignFiles.ts';
import type { Bench, Measurement } from './measurement.ts';
import { traceStreams } from './traceStreams.ts';

/** Writes an Inspect log of about this size, with the members that Inspect writes. */
async function writeEval(path: string, bytes: number): Promise<number> {
	const out = createWriteStream(path);
	const random = Random.of('bench', 1);
	const directory: Buffer[] = [];
	let at = 0;
	const put = async (name: string, value: unknown) => {
		const plain = Buffer.from(JSON.stringify(value));
		const body = zstdCompressSync(plain);
		const fields = Buffer.alloc(26);
		fields.writeUInt16LE(20, 0);
		fields.writeUInt16LE(93, 4);
		fields.writeUInt32LE(crc32(plain), 10);
		fields.writeUInt32LE(body.length, 14);
		fields.writeUInt32LE(plain.length, 18);
		fields.writeUInt16LE(name.length, 22);
		const tail = Buffer.alloc(14);
		tail.writeUInt32LE(at, 10);
		directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, tail, Buffer.from(name)]));
		const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), fields, Buffer.from(name), body]);
		at += local.length;
		if (!out.write(local)) await once(out, 'drain');
	};
	const summaries: unknown[] = [];
	let id = 0;
	while (at < bytes) {
		id++;
		const input = `Question ${id}: ${words(random, 200)}`;
		const answer = words(random, 20_000);
		const messages = [
			{ id: `u${id}`, role: 'user', content: input, source: 'input' },
			{ id: `a${id}`, role: 'assistant', content: answer, source: 'generate' },
		];
		const output = { model: 'm', choices: [{ message: messages[1], stop_reason: 'stop' }], usage };
		const model_usage = { m: usage };
		const scores = { match: { value: id % 3 === 0 ? 'C' : 'I', answer: '1', explanation: 'x' } };
		const event = { uuid: `e${id}`, timestamp: '2026-11-23T09:09:37.9+00:00', working_start: 0, event: 'info' };
		const events = Array.from({ length: 3 }, () => ({ ...event, data: words(random, 20_000) }));
		const sample = {
			id,
			epoch: 1,
			input,
			target: '1',
			messages,
			output,
			scores,
			metadata: {},
			store: {},
			events,
			model_usage,
			attachments: {},
			uuid: `s${id}`,
		};
		await put(`samples/${id}_epoch_1.json`, sample);
		summaries.push({
			id,
			epoch: 1,
			input,
			target: '1',
			metadata: {},
			scores,
			model_usage,
			total_time: 1,
			working_time: 1,
			uuid: `s${id}`,
			completed: true,
			message_count: 2,
		});
	}
	await put('summaries.json', summaries);
	const dataset = { name: 'd', samples: id, sample_ids: [], shuffled: false };
	const spec = {
		run_id: 'r',
		created: '2026-11-23T09:09:37+00:00',
		task: 't',
		task_id: 't',
		task_version: 0,
		task_attribs: {},
		task_args: {},
		dataset,
		model: 'm',
		model_args: {},
		config: {},
		packages: { inspect_ai: '0.3' },
		metadata: {},
	};
	await put('header.json', {
		version: 2,
		status: 'success',
		eval: spec,
		plan: { name: 'plan', steps: [], config: {} },
		results: { total_samples: id, completed_samples: id, scores: [] },
		stats: { started_at: '', completed_at: '', model_usage: { m: usage } },
	});
	const list = Buffer.concat(directory);
	const end = Buffer.alloc(22);
	end.write('PK\x05\x06', 'latin1');
	end.writeUInt16LE(directory.length, 8);
	end.writeUInt16LE(directory.length, 10);
	end.writeUInt32LE(list.length, 12);
	end.writeUInt32LE(at, 16);
	out.end(Buffer.concat([list, end]));
	await finished(out);
	return id;
}
const usage = { input_tokens: 100, output_tokens: 5000, total_tokens: 5100 };

async function inspectLogs(folder: string, megabytes: number, rounds: number): Promise<Measurement[]> {
	const path = join(folder, 'inspect');
	await mkdir(path);
	const file = join(path, 'log.eval');
	const count = await writeEval(file, megabytes * 1e6);
	const python = await newestPython('inspect');
	const own: number[] = [];
	const one: number[] = [];
	const theirs: number[] = [];
	const theirsOne: number[] = [];
	for (let round = 0; round < rounds; round++) {
		const source = new RolloutsSource(path);
		const { seconds, value } = await timed(() => source.step(0));
		if (value.groups.length !== count) throw new Error(`${value.groups.length} of ${count} samples were listed`);
		own.push(seconds);
		for (let i = 1; i <= 10; i++) {
			one.push((await timed(() => source.group(0, Math.floor((i * count) / 11)))).seconds * 1000);
		}
		theirs.push(pythonSeconds(python, listed, file));
		theirsOne.push(pythonSeconds(python, sampled, file, `${Math.floor(count / 2)}`) * 1000);
	}
	const name = `Inspect log of ${((await stat(file)).size / 1e6).toFixed(0)} MB with ${count} samples`;
	return [
		{ name: `${name}: list`, unit: 's', samples: own },
		{ name: `${name}: list, Inspect's summaries`, unit: 's', samples: theirs },
		{ name: `${name}: open a sample`, unit: 'ms', samples: one },
		{ name: `${name}: open a sample, Inspect`, unit: 'ms', samples: theirsOne },
	];
}
const listed = `
import sys, time
from inspect_ai.log import read_eval_log_sample_summaries
t = time.perf_counter(); read_eval_log_sample_summaries(sys.argv[1]); print(time.perf_counter() - t)`;
const sampled = `
import sys, time
from inspect_ai.log import read_eval_log_sample
t = time.perf_counter(); read_eval_log_sample(sys.argv[1], int(sys.argv[2]), 1); print(time.perf_counter() - t)`;

async function eventFiles(folder: string, scalars: number, rounds: number): Promise<Measurement[]> {
	const path = join(folder, 'events');
	await mkdir(path);
	const out = createWriteStream(join(path, 'events.out.tfevents.1.host'));
	const tags = Array.from({ length: 20 }, (_, i) => `train/metric_${i}`);
	for (let step = 0; step < scalars / tags.length; step++) {
		out.write(Buffer.concat(tags.map((tag, i) => eventBytes({ step, tag, value: step / (i + 1) }))));
	}
	out.end();
	await finished(out);
	const own: number[] = [];
	const theirs: number[] = [];
	const python = await newestPython('trainers');
	for (let round = 0; round < rounds; round++) {
		const { seconds } = await timed(async () => {
			let rows = 0;
			for await (const lines of (await openRun(path)).metrics()) rows += lines.length;
			if (rows !== scalars / tags.length) throw new Error(`${rows} rows were read`);
		});
		own.push(seconds);
		theirs.push(pythonSeconds(python, accumulated, path));
	}
	const name = `event file with ${scalars} scalars`;
	return [
		{ name: `${name}: read`, unit: 's', samples: own },
		{ name: `${name}: TensorBoard's EventAccumulator`, unit: 's', samples: theirs },
		{ name: `${name}: times faster`, unit: 'x', samples: own.map((seconds, i) => (theirs[i] as number) / seconds) },
	];
}
const accumulated = `
import sys, time
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
t = time.perf_counter(); a = EventAccumulator(sys.argv[1], size_guidance={'scalars': 0}); a.Reload()
n = sum(len(a.Scalars(tag)) for tag in a.Tags()['scalars']) or sum(len(a.Tensors(tag)) for tag in a.Tags()['tensors'])
assert n > 0
print(time.perf_counter() - t)`;

/** Large files from other programs, each compared with the program's own reader. */
export const bench: Bench = {
	title: 'large files from other programs',
	async run({ rounds, tiny }) {
		const folder = await mkdtemp(join(tmpdir(), 'bench-foreign-'));
		const size = (full: number) => (tiny ? full / 50 : full);
		try {
			return [
				...(await eventFiles(folder, size(200_000), rounds)),
				...(await inspectLogs(folder, size(500), rounds)),
				...(await traceStreams(folder, size(1000), rounds)),
			];
		} finally {
			await rm(folder, { recursive: true, force: true });
		}
	},
};
