/*
 * Changes one file in a small run from another trainer and reads the run. Nothing may crash, take too long, or be lost
 * silently: every record must be read, reported as not part of the format, or reported as an error.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type FileMetaData, parquetMetadata } from 'hyparquet';
import { parse as parseYaml } from 'yaml';
import { Failure } from '../../src/base/failure.ts';
import { Random } from '../../src/base/random.ts';
import { ownFormat } from '../../src/runs/annotationFolder.ts';
import { maskedCrc32c } from '../../src/runs/importers/crc32c.ts';
import { findFormats } from '../../src/runs/importers/findFormats.ts';
import { ForeignRun } from '../../src/runs/importers/foreignRun.ts';
import { formats } from '../../src/runs/importers/formats.ts';
import { PathPattern } from '../../src/runs/importers/pathPattern.ts';
import type { FileForm, RecordContext, RunFormat } from '../../src/runs/importers/runFormat.ts';
import { OwnRun } from '../../src/runs/ownRun.ts';
import type { RunContent, RunFault } from '../../src/runs/runContent.ts';
import { runFiles, stepName } from '../../src/runs/runFiles.ts';
import { root } from '../scripts/paths.ts';
import { metricsLine, rollout } from '../unit/runs/runFixtures.ts';
import { mutations } from './fileMutations.ts';
import { zipFile } from './zipFile.ts';
import { zstdFile } from './zstdFile.ts';

type Use = 'rollouts' | 'metrics' | 'companion';

interface Target {
	readonly format: string;
	readonly path: string;
	readonly bytes: Buffer;
	readonly form: FileForm;
	readonly use: Use;
	/** Files that must be next to it. */
	readonly beside: Readonly<Record<string, Buffer>>;
}

export interface FuzzCase {
	readonly seed: number;
	/** Display name, such as "verl rollouts/1.jsonl: flip bits". */
	readonly name: string;
	readonly millis: number;
	/** Description of the problem, or null if there is none. */
	readonly problem: string | null;
	/** Number of records in the file, read, and reported as errors; null if not counted. */
	readonly counts: { readonly total: number; readonly read: number; readonly skipped: number } | null;
}

const folderOf: Readonly<Record<string, string>> = {
	trl: 'trl-run',
	verl: 'verl',
	'prime-rl': 'prime-rl/run',
	verifiers: 'verifiers-v1/outputs/gsm8k--Qwen3-0.6B--null--a1b2c3',
	'verifiers-legacy': 'verifiers-legacy/outputs/evals/gsm8k--Qwen--Qwen3-0.6B/3f9a1c2e',
	'nemo-rl': 'nemo-rl/exp_001',
	openrlhf: 'openrlhf/tensorboard/ppo_0820T1000',
	skyrl: 'skyrl',
	art: 'art/.art/fixtures/models/agent-001',
	rllm: 'rllm/logs/rllm-agent/gsm8k',
	tinker: 'tinker/log',
	inspect: 'inspect',
	'lm-eval': 'lm-eval/adder',
	trackio: 'trackio',
	wandb: 'wandb-offline',
	mlflow: 'mlflow',
	'mlflow-folders': 'mlflow-folders/156766826914807713/traces',
	slime: 'miles',
};
const fixture = (name: string) => readFileSync(join(root, 'test/fixtures', name));

/** Returns a fixture's files, plus the same content in layouts that the fixtures lack. */
function filesOf(format: string): Map<string, Buffer> {
	const files = new Map<string, Buffer>();
	const folder = folderOf[format];
	if (folder !== undefined) {
		const entries = readdirSync(join(root, 'test/fixtures', folder), { recursive: true, withFileTypes: true });
		for (const entry of entries) {
			if (!entry.isFile()) continue;
			const path = join(entry.parentPath, entry.name);
			files.set(path.slice(join(root, 'test/fixtures', folder).length + 1), readFileSync(path));
		}
	}
	const traces = 'prime-rl/run/rollouts/step_1/train/all/traces.jsonl';
	if (format === 'tensorboard') {
		const name = 'events.out.tfevents.1795187451.trainer0.4242.0';
		files.set(name, fixture(`${folderOf.openrlhf}/${name}`));
	} else if (format === 'skyrl-eval') {
		files.set(
			'dumped_evals/eval_only/gsm8k.jsonl',
			fixture('skyrl/dumped_evals/global_step_5_evals/openai_gsm8k.jsonl'),
		);
	} else if (format === 'prime-rl') {
		files.set('rollouts/step_9/train_rollouts.jsonl', fixture(`${folderOf['verifiers-legacy']}/results.jsonl`));
		files.set('rollouts/step_8/eval_rollouts.jsonl', fixture(traces));
		files.set('monitors/file/traces/stream.jsonl', fixture(traces));
		files.set('monitors/file/metrics.jsonl', fixture('prime-rl/run/metrics.jsonl'));
		const lines = fixture(traces)
			.toString('utf8')
			.split(/(?<=\n)/);
		files.set('monitors/file/traces/stream/00000.jsonl.zst', zstdFile(lines, true));
		files.set('monitors/file/traces/stream/00001.jsonl', fixture(traces));
		const [id] = /(?<="traces":\[{"(?:version":"[^"]*",")?id":")[^"]+/.exec(lines[0] ?? '') ?? ['x'];
		const update = { version: 1, trace_id: id, info: { advantage: 1 }, branches: [{ index: 0, entropies: [1, 2] }] };
		files.set('monitors/file/traces/annotations/trainer/00000.jsonl', Buffer.from(`${JSON.stringify(update)}\n`));
	} else if (format === 'art') {
		const yaml = fixture('art/legacy-yaml/trajectories/train/0007.yaml');
		const groups = parseYaml(yaml.toString('utf8')) as unknown[];
		files.set('trajectories/train/0007.yaml', yaml);
		files.set(
			'trajectories/train/0008.jsonl',
			Buffer.from(
				groups
					.map((group) => `${JSON.stringify(group)}\n`)
					.join('')
					.repeat(3),
			),
		);
	} else if (format === 'chat') {
		const messages = [
			{ role: 'user', content: 'q' },
			{ role: 'assistant', content: 'a' },
		];
		const rows = [
			{ messages, reward: 1 },
			{ custom_id: 'c', request: { messages }, response: { choices: [] } },
		];
		files.set(
			'chats.jsonl',
			Buffer.from(
				rows
					.map((row) => `${JSON.stringify(row)}\n`)
					.join('')
					.repeat(4),
			),
		);
	} else if (format === 'nemo-gym') {
		const content = [{ type: 'output_text', text: 'a' }];
		const row = {
			responses_create_params: { input: [{ role: 'user', content: 'q' }] },
			response: { output: [{ type: 'message', role: 'assistant', content, generation_token_ids: [1, 2] }] },
			reward: 1,
			_ng_task_index: 0,
		};
		files.set('rollouts.jsonl', Buffer.from(`${JSON.stringify(row)}\n`.repeat(6)));
	} else if (format === 'opentelemetry') {
		const attributes = [
			{ key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
			{ key: 'gen_ai.input.messages', value: { stringValue: '[{"role":"user","parts":[]}]' } },
		];
		const batch = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{ spanId: 's', attributes }] }] }] });
		files.set('spans.jsonl', Buffer.from(`${batch}\n`.repeat(4)));
		files.set('spans.json', Buffer.from(batch));
	} else if (format === 'inspect') {
		// Of the JSON files, only those that have Inspect's names or contents are read.
		files.set('2026-11-23T09-09-37+00-00_arith-cot_id.json', fixture('inspect/arith-cot.json'));
		files.delete('arith-cot.json');
	} else if (format === 'slime') files.set('rollout_data/eval_0.pt', fixture('slime/rollout_data/eval_0.pt'));
	else if (format === 'mlflow-folders')
		files.set(
			'metrics/train/loss',
			fixture('mlflow-folders/156766826914807713/eb20b1702b39449cb23107a0f372ceb1/metrics/train/loss'),
		);
	else if (format === 'trackio') {
		for (const name of ['sums.parquet', 'sums_traces.parquet', 'sums_configs.parquet']) {
			files.set(name, fixture(`trackio-parquet/${name}`));
		}
	} else if (format === 'verifiers') files.set('results.jsonl', fixture(traces));
	return files;
}

function targetsOf(format: RunFormat): Target[] {
	const files = filesOf(format.name);
	const targets: Target[] = [];
	for (const [path, bytes] of files) {
		for (const spec of format.rollouts) {
			const parts = new PathPattern(spec.pattern).match(path);
			if (parts === null || spec.accepts?.(parts) === false) continue;
			const beside: Record<string, Buffer> = {};
			const companion = spec.companion?.pattern.replace(/\{(\w+)\}/g, (_, part: string) => parts[part] ?? '');
			const result = companion === undefined ? undefined : files.get(companion);
			if (companion !== undefined && result !== undefined) {
				beside[companion] = result;
				const own = { [path]: bytes };
				targets.push({
					format: format.name,
					path: companion,
					bytes: result,
					form: spec.companion?.form ?? 'jsonl',
					use: 'companion',
					beside: own,
				});
			}
			targets.push({ format: format.name, path, bytes, form: spec.form, use: 'rollouts', beside });
			for (const pattern of spec.annotations?.patterns ?? []) {
				for (const [annotated, content] of files) {
					if (new PathPattern(pattern).match(annotated) === null) continue;
					const { form } = spec.annotations ?? spec;
					const own = { [path]: bytes };
					targets.push({ format: format.name, path: annotated, bytes: content, form, use: 'companion', beside: own });
				}
			}
			break;
		}
		for (const spec of format.metrics) {
			const parts = new PathPattern(spec.pattern).match(path);
			if (parts === null || spec.accepts?.(parts) === false) continue;
			targets.push({ format: format.name, path, bytes, form: spec.form, use: 'metrics', beside: {} });
			break;
		}
	}
	return targets;
}

/** Files of a run from our own engines, covering its line formats. */
function ownFiles(): Record<string, Buffer> {
	const lines = (count: number, line: (at: number) => object) =>
		Buffer.from(Array.from({ length: count }, (_, at) => `${JSON.stringify(line(at))}\n`).join(''));
	const { rollouts, metrics, record } = runFiles;
	const rolloutLines = (step: number) =>
		lines(24, (at) => ({ ...rollout(step, at % 4), group: Math.floor(at / 4), rewards: { accuracy: at % 2 } }));
	return {
		[record]: Buffer.from(JSON.stringify({ format: 1, id: 'own', name: 'own' })),
		[`${rollouts}/${stepName(1)}.jsonl`]: rolloutLines(1),
		[`${rollouts}/${stepName(2)}.jsonl`]: rolloutLines(2),
		[metrics]: lines(40, (at) => metricsLine(at + 1)),
	};
}

function ownTargets(): Target[] {
	const files = ownFiles();
	return Object.entries(files).map(([path, bytes]) => ({
		format: ownFormat,
		path,
		bytes,
		form: path === runFiles.record ? 'json' : 'jsonl',
		use: path === runFiles.metrics ? 'metrics' : 'rollouts',
		beside: Object.fromEntries(Object.entries(files).filter(([other]) => other !== path)),
	}));
}

const byFormat: readonly { readonly format: RunFormat | null; readonly targets: readonly Target[] }[] = [
	...formats.map((format) => ({ format, targets: targetsOf(format) })),
	{ format: null, targets: ownTargets() },
];
const everything = byFormat.flatMap(({ targets }) => targets.map(({ bytes }) => bytes));

/** Fuzzed formats, with the number of files for each. */
export const fuzzedFormats = byFormat.map(({ format, targets }) => ({
	name: format?.name ?? ownFormat,
	files: targets.length,
}));

type Outcome = {
	readonly kind: 'read' | 'none' | 'refused';
	readonly count: number;
	/** Number of parts of the record that the format reports instead of returning. */
	readonly faulty: number;
};

/** Wraps a format so that it records the outcome for each record in a file. */
function counting(format: RunFormat, path: string): { format: RunFormat; outcomes: Map<string, Outcome> } {
	const outcomes = new Map<string, Outcome>();
	const note = <T>(split: string, context: RecordContext, made: readonly T[] | string) => {
		if (context.file !== path) return made;
		const key = `${split} ${context.record}`;
		// A record that is reread by its position does not know which record it is.
		if (outcomes.has(key)) return made;
		if (typeof made === 'string') outcomes.set(key, { kind: 'refused', count: 1, faulty: 0 });
		else {
			const faulty = made.filter((one) => (one as { fault?: string }).fault !== undefined).length;
			outcomes.set(key, { kind: made.length > 0 ? 'read' : 'none', count: made.length, faulty });
		}
		return made;
	};
	const counted: RunFormat = {
		...format,
		rollouts: format.rollouts.map((files) => ({
			...files,
			rollouts: (record, context) => note(files.split, context, files.rollouts(record, context)),
		})),
		metrics: format.metrics.map((files) => ({
			...files,
			metrics: (record, context) => note('metrics', context, files.metrics(record, context)),
		})),
	};
	return { format: counted, outcomes };
}

/** Counts the records in a file independently of the readers. Returns null if they cannot be counted. */
function totalOf(target: Target, bytes: Buffer): number | null {
	// Compressed lines are counted only by the reader.
	if (target.path.endsWith('.zst')) return null;
	switch (target.form) {
		case 'jsonl':
			return bytes
				.toString('latin1')
				.split('\n')
				.filter((line) => Buffer.from(line, 'latin1').toString('utf8').trim() !== '').length;
		case 'lines':
			return bytes
				.toString('utf8')
				.split('\n')
				.filter((line) => line.trim() !== '').length;
		case 'json':
		case 'yaml':
			return 1;
		case 'parquet':
			return parquetRows(bytes);
		case 'zip':
			return samplesIn(bytes);
		case 'events':
		case 'sqlite':
		case 'torch':
		case 'wandb':
			return null;
	}
}

/** Counts the names of samples in the directory of a zip archive. Returns null if the directory is damaged. */
function samplesIn(bytes: Buffer): number | null {
	const end = bytes.lastIndexOf('PK\x05\x06', bytes.length, 'latin1');
	if (end < 0 || end + 22 > bytes.length) return null;
	const names = new Set<string>();
	let at = bytes.readUInt32LE(end + 16);
	for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
		if (at + 46 > end || bytes.toString('latin1', at, at + 4) !== 'PK\x01\x02') return null;
		const [name, extra, comment] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field)) as [
			number,
			number,
			number,
		];
		names.add(bytes.toString('utf8', at + 46, at + 46 + name));
		at += 46 + name + extra + comment;
	}
	return [...names].filter((name) => /^samples\/[^/]+\.json$/s.test(name) && !name.startsWith('samples/.')).length;
}

function parquetRows(bytes: Buffer): number {
	let metadata: FileMetaData;
	try {
		const copy = new Uint8Array(bytes);
		metadata = parquetMetadata(copy.buffer, { geoparquet: false });
	} catch {
		return 1;
	}
	const rows = Math.max(0, Number(metadata.num_rows ?? 0));
	const inGroups = metadata.row_groups.reduce((sum, group) => sum + Math.max(0, Number(group.num_rows ?? 0)), 0);
	return rows === inGroups ? rows : Number.NaN;
}

/** Counts the events lost from an event file: one for each checksum mismatch, and one if the rest is unreadable. */
function lostEvents(bytes: Buffer): number {
	let lost = 0;
	for (let at = 0; at < bytes.length; ) {
		const head = bytes.subarray(at, at + 12);
		if (head.length < 12 || maskedCrc32c(head.subarray(0, 8)) !== head.readUInt32LE(8)) return lost + 1;
		const length = Number(head.readBigUInt64LE(0));
		const end = at + 12 + length + 4;
		if (end > bytes.length) return lost + 1;
		if (maskedCrc32c(bytes.subarray(at + 12, end - 4)) !== bytes.readUInt32LE(end - 4)) lost++;
		at = end;
	}
	return lost;
}

const skippedIn = (faults: readonly RunFault[]) => faults.reduce((sum, { records }) => sum + records, 0);

async function readRun(run: RunContent): Promise<number> {
	let rollouts = 0;
	for (const split of ['train', 'validation'] as const) {
		for (const step of await run.steps(split)) {
			const opened = await run.open(step, split);
			try {
				let again = 3;
				for await (const { rollout, place } of opened.rollouts()) {
					if (rollout === null) continue;
					rollouts++;
					const text = JSON.stringify(rollout);
					if (again-- > 0) assert.equal(JSON.stringify(await opened.rollout(place)), text, 'reread by its position');
				}
			} finally {
				await opened.close();
			}
		}
	}
	for await (const lines of run.metrics()) JSON.stringify(lines);
	JSON.stringify(await run.record());
	return rollouts;
}

function checkCounts(
	target: Target,
	bytes: Buffer,
	outcomes: ReadonlyMap<string, Outcome>,
	faults: readonly RunFault[],
): FuzzCase['counts'] {
	const skipped = skippedIn(faults);
	if (target.form === 'events') {
		const lost = lostEvents(bytes);
		assert.ok(skipped >= lost, `${lost} events are lost, ${skipped} are reported`);
		return null;
	}
	const total = totalOf(target, bytes);
	if (target.use === 'companion') {
		// A change in a tensor that is not needed is not noticed.
		if (target.form === 'torch') return null;
		// The file refers to rollouts stored elsewhere; lines that are not JSON must be reported.
		const broken = bytes
			.toString('utf8')
			.split(target.form === 'jsonl' ? '\n' : /(?!)/)
			.filter((text) => text.trim() !== '' && !isLooseJson(text)).length;
		assert.ok(skipped >= broken, `${broken} records cannot be read, ${skipped} are reported`);
		return null;
	}
	// A record can be read for either split, and counts as skipped if either rejects it.
	const recordOf = (key: string) => key.slice(key.indexOf(' ') + 1);
	const read = new Set([...outcomes.keys()].map(recordOf));
	for (const [key, { kind }] of outcomes) if (kind === 'refused') read.delete(recordOf(key));
	if (total === null) return null;
	if (target.form === 'zip' && faults.some(({ message }) => message.startsWith('a damaged zip archive'))) return null;
	if (Number.isNaN(total)) {
		assert.ok(skipped > 0, 'contradictory row counts are reported');
		return null;
	}
	const parts = [...outcomes.values()].reduce((sum, { faulty }) => sum + faulty, 0);
	const lost = skipped - parts;
	assert.equal(read.size + lost, total, `read ${read.size} and skipped ${lost} of ${total}`);
	return { total, read: read.size, skipped: lost };
}

function isLooseJson(text: string): boolean {
	for (const tried of [text, text.replace(/-?\b(?:NaN|Infinity)\b/g, 'null')]) {
		try {
			JSON.parse(tried.replace(/^\uFEFF/, ''));
			return true;
		} catch {
			// Try the next one, if any.
		}
	}
	return false;
}

/** Changes a file. Half of the pickles are changed within their archive, whose checksum would reject them otherwise. */
function mutated({ form, bytes }: Target, change: (bytes: Buffer) => Buffer, random: Random): Buffer {
	if (form !== 'torch' || random.next() < 0.5) return change(bytes);
	const members = storedMembers(bytes);
	return zipFile(
		members.map(({ name, text }) => ({ name, text: name.endsWith('/data.pkl') ? change(text) : text, method: 0 })),
	);
}

/** Returns the members of an undamaged, uncompressed archive. */
function storedMembers(bytes: Buffer): { readonly name: string; readonly text: Buffer }[] {
	const end = bytes.lastIndexOf('PK\x05\x06', bytes.length, 'latin1');
	const members: { name: string; text: Buffer }[] = [];
	let at = bytes.readUInt32LE(end + 16);
	for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
		const [name, extra, comment] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field)) as [
			number,
			number,
			number,
		];
		const local = bytes.readUInt32LE(at + 42);
		const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
		const text = bytes.subarray(start, start + bytes.readUInt32LE(at + 24));
		members.push({ name: bytes.toString('utf8', at + 46, at + 46 + name), text });
		at += 46 + name + extra + comment;
	}
	return members;
}

/** Creates and reads the changed run for a seed. Never throws; problems are returned. */
export async function fuzzCase(seed: number): Promise<FuzzCase> {
	const random = Random.of('importer fuzz', seed);
	const { format, targets } = byFormat[seed % byFormat.length] as (typeof byFormat)[number];
	const target = random.pick(targets);
	const mutation = random.pick(mutations);
	const bytes = mutated(target, (given) => mutation.apply(given, random, everything), random);
	const name = `${target.format} ${target.path} (${target.use}): ${mutation.name}`;
	const folder = await mkdtemp(join(tmpdir(), 'importer-fuzz-'));
	let started = performance.now();
	try {
		for (const [path, content] of [...Object.entries(target.beside), [target.path, bytes] as const]) {
			await mkdir(dirname(join(folder, path)), { recursive: true });
			await writeFile(join(folder, path), content);
			// Backdate the file so that a truncated end is not taken for a write in progress.
			await utimes(join(folder, path), 1_700_000_000, 1_700_000_000);
		}
		started = performance.now();
		await findFormats(folder);
		if (format === null)
			return {
				seed,
				name,
				problem: null,
				counts: await readOwn(folder, target, bytes),
				millis: performance.now() - started,
			};
		const { format: counted, outcomes } = counting(format, target.path);
		const run = new ForeignRun(folder, counted);
		const rollouts = await readRun(run);
		const millis = performance.now() - started;
		const faults = run.faults.filter(({ file }) => file === target.path);
		const counts = checkCounts(target, bytes, outcomes, faults);
		checkRollouts(target, outcomes, rollouts, faults);
		assert.deepEqual(
			run.faults.filter(({ file }) => file !== target.path),
			[],
			'unchanged files have no faults',
		);
		assert.equal((Object.prototype as { polluted?: unknown }).polluted, undefined, 'prototypes are unchanged');
		return { seed, name, millis, problem: null, counts };
	} catch (error) {
		const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
		return { seed, name, millis: performance.now() - started, problem, counts: null };
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

/** Checks a run in our own format: every line of rollouts and metrics must be returned or reported. */
async function readOwn(folder: string, target: Target, bytes: Buffer): Promise<FuzzCase['counts']> {
	const run = new OwnRun(folder);
	if (target.path === runFiles.record) {
		await run.record().catch((error: unknown) => assert.ok(error instanceof Failure));
		return null;
	}
	let read = 0;
	if (target.use === 'metrics') {
		for await (const lines of run.metrics()) read += lines.length;
	} else {
		const name = target.path.split('/').at(-1) ?? '';
		const step = (await run.steps()).find((one) => name.startsWith(stepName(one)));
		const opened = await run.open(step ?? -1);
		for await (const { rollout } of opened.rollouts()) if (rollout !== null) read++;
		await opened.close();
	}
	const total = totalOf(target, bytes) ?? 0;
	const skipped = skippedIn(run.faults.filter(({ file }) => file === target.path));
	assert.equal(read + skipped, total, `read ${read} and skipped ${skipped} of ${total}`);
	return { total, read, skipped };
}

/** Checks that each rollout a format reads from a record is returned, or its position is reported as an error. */
function checkRollouts(
	target: Target,
	outcomes: ReadonlyMap<string, Outcome>,
	rollouts: number,
	faults: readonly RunFault[],
): void {
	// Event files, databases and trackio's exports contain rollouts and metrics in one file.
	const both = target.form === 'events' || target.form === 'sqlite' || target.format === 'trackio';
	if (target.use !== 'rollouts' || both) return;
	const made = [...outcomes.values()].reduce((sum, { kind, count }) => sum + (kind === 'read' ? count : 0), 0);
	assert.ok(rollouts + faults.length >= made, `${made} rollouts were read from records, ${rollouts} returned`);
	assert.ok(rollouts <= made, `${rollouts} rollouts were returned, ${made} read from records`);
}
