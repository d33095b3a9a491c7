import { checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { ownFormat } from '../runs/annotationFolder.ts';
import { openRun } from '../runs/openRun.ts';
import type { RunContent } from '../runs/runContent.ts';
import { runFiles } from '../runs/runFiles.ts';
import { runStateOf } from '../runs/runStatus.ts';
import type { IndexTask, ScanResult } from './indexTasks.ts';
import { type IndexWriter, type KnownPart, unfinished } from './indexWriter.ts';
import { foreignMetrics, ownMetrics } from './metricsPortions.ts';
import type { RowBatch } from './rolloutRow.ts';
import { listParts, metricsStamp, type RunPart, sameFile, tailHash } from './runParts.ts';
import type { ThreadPool } from './threadPool.ts';

/** Chunk size for reading a file with several threads, in bytes. */
const pieceBytes = 8 << 20;

/** Maximum number of rows from one part to buffer before writing, even if the part is incomplete. */
const rowsKept = 10_000;

export interface IndexedRun {
	readonly rollouts: number;
	readonly skipped: number;
	/** Description of the first problem. */
	readonly fault: string | null;
	readonly live: boolean;
}

export interface IndexSteps {
	/** Counts bytes, or steps if the format does not provide bytes. */
	progress(done: number, total: number, rollouts: number, skipped: number): void;
}

/** Updates the index of one run to match the files on disk. */
export class RunIndexer {
	readonly #writer: IndexWriter;
	readonly #threads: ThreadPool;

	constructor(writer: IndexWriter, threads: ThreadPool) {
		this.#writer = writer;
		this.#threads = threads;
	}

	/** Fails with `cancelled`, in which case the data read so far is kept, and the next call continues from there. */
	async index(folder: string, listener: IndexSteps, signal: AbortSignal): Promise<IndexedRun> {
		const content = await openRun(folder);
		const { record, status } = await runStateOf(() => content.record());
		const key = await this.#keep(folder, content, { ...record, status });
		const parts = await listParts(content, signal);
		const known = await this.#known(key);
		const wanted = new Map(parts.map((part) => [nameOf(part), part]));
		await this.#forget(
			key,
			[...known.values()].filter((part) => !wanted.has(nameOf(part))),
		);

		const changed = parts.filter((part) => {
			const before = known.get(nameOf(part));
			return before === undefined || before.stamp !== part.stamp;
		});
		const size = ({ bytes }: RunPart) => (bytes === 0 ? 1 : bytes);
		const total = parts.reduce((sum, part) => sum + size(part), 0);
		let done = total - changed.reduce((sum, part) => sum + size(part), 0);
		let rollouts = 0;
		let skipped = 0;
		for (const part of parts) {
			const before = known.get(nameOf(part));
			if (before === undefined || before.stamp !== part.stamp) continue;
			rollouts += before.rollouts;
			skipped += before.skipped + Number(before.torn);
		}
		const report = () => listener.progress(Math.min(done, total), total, rollouts, skipped);
		report();
		const work = changed.values();
		const worker = async () => {
			for (const part of work) {
				checkAborted(signal);
				const result = await this.#part(key, content, part, known.get(nameOf(part)) ?? null, signal, (read, rows) => {
					done += read;
					rollouts += rows;
					report();
				});
				skipped += result.skipped + Number(result.torn);
			}
		};
		try {
			// One more worker than threads, so that one chunk is read while another is written.
			const all = await Promise.allSettled(Array.from({ length: this.#threads.size + 1 }, worker));
			for (const one of all) if (one.status === 'rejected') throw one.reason;
		} finally {
			await this.#writer.flush();
		}
		await this.#metrics(key, content, signal);
		await this.#evaluations(key, content);
		const [row] = await this.#writer.connection.rows(
			'select sum(rollouts), sum(skipped + torn), first(first_fault order by split, step) filter (first_fault is not null) from part where run_key = $key',
			{ key },
		);
		const [counted, lost, first] = row ?? [];
		return {
			rollouts: Number(counted ?? 0),
			skipped: Number(lost ?? 0),
			fault: typeof first === 'string' ? first : null,
			live: status === 'running' || status === 'starting' || status === 'paused',
		};
	}

	/** Removes a run from the index. */
	async remove(folder: string): Promise<void> {
		await this.#writer.flush();
		await this.#writer.transaction(async (connection) => {
			const rows = await connection.rows('select key from run where folder = $folder', { folder });
			for (const [key] of rows) {
				for (const table of ['rollout', 'part', 'metric', 'evaluation']) {
					await connection.run(`delete from ${table} where run_key = $key`, { key: Number(key) });
				}
				await connection.run('delete from run where key = $key', { key: Number(key) });
			}
		});
	}

	/** Updates the run's row. A different format or an earlier attempt's data means that everything is read again. */
	async #keep(
		folder: string,
		content: RunContent,
		record: { name: string; status: string; created: number; attempt: number },
	): Promise<number> {
		const values = {
			name: record.name.slice(0, 500),
			status: record.status,
			created: Number.isFinite(record.created) ? record.created : null,
			attempt: Math.trunc(record.attempt),
		};
		const [row] = await this.#writer.connection.objects('select * from run where folder = $folder', { folder });
		const known = row?.format === content.format ? row : undefined;
		// A write ends with a flush to disk, so a query of unchanged runs writes nothing.
		if (known !== undefined && Object.entries(values).every(([name, value]) => known[name] === value)) {
			return Number(known.key);
		}
		if (row !== undefined && known === undefined) await this.remove(folder);
		return await this.#writer.transaction(async (connection) => {
			if (known !== undefined) {
				const key = Number(known.key);
				await connection.run(
					'update run set name = $name, status = $status, created = $created::DOUBLE, attempt = $attempt where key = $key',
					{ key, ...values },
				);
				return key;
			}
			const [next] = await connection.rows('select coalesce(max(key), 0) + 1 from run');
			const key = Number(next?.[0] ?? 1);
			await connection.run(
				`insert into run values ($key, $folder, $folder, $format, $name, $status, $created::DOUBLE, $attempt, $steps, '', 0, '', '')`,
				{ key, folder, format: content.format, steps: content.hasSteps, ...values },
			);
			return key;
		});
	}

	async #known(key: number): Promise<Map<string, KnownPart>> {
		const rows = await this.#writer.connection.objects('select * from part where run_key = $key', { key });
		const parts = rows.map(
			(row): KnownPart => ({
				split: row.split === 'validation' ? 'validation' : 'train',
				step: Number(row.step),
				stamp: String(row.stamp),
				bytes: Number(row.bytes),
				indexed: Number(row.indexed),
				tail: String(row.tail),
				rollouts: Number(row.rollouts),
				skipped: Number(row.skipped),
				torn: Number(row.torn) === 1,
				fault: row.first_fault === null ? null : String(row.first_fault),
				file: row.file === null ? null : String(row.file),
			}),
		);
		return new Map(parts.map((part) => [nameOf(part), part]));
	}

	/** Removes parts that no longer exist. */
	async #forget(key: number, gone: readonly KnownPart[]): Promise<void> {
		if (gone.length === 0) return;
		await this.#writer.transaction(async (connection) => {
			for (const { split, step } of gone) {
				for (const table of ['rollout', 'part']) {
					await connection.run(`delete from ${table} where run_key = $key and split = $split and step = $step`, {
						key,
						split,
						step: BigInt(step),
					});
				}
			}
		});
	}

	/** Reads a part, or only the data appended to it. */
	async #part(
		key: number,
		content: RunContent,
		part: RunPart,
		before: KnownPart | null,
		signal: AbortSignal,
		read: (bytes: number, rows: number) => void,
	): Promise<ScanResult> {
		const { file } = part;
		const from = file === null || before === null ? 0 : await continuation(content.folder, file, part, before);
		const continues = from > 0 && before !== null;
		if (continues) read(from, before.rollouts);
		let batches: RowBatch[] = [];
		let rows = 0;
		let written = continues ? before.rollouts : 0;
		let replaces = before !== null && !continues;
		const put = async (result: ScanResult | null, tail: string) => {
			const given = batches;
			batches = [];
			rows = 0;
			const kept = continues ? before.skipped : 0;
			await this.#writer.put({
				runKey: key,
				part: {
					split: part.split,
					step: part.step,
					file,
					stamp: result === null ? unfinished : part.stamp,
					bytes: part.bytes,
					indexed: result?.end ?? 0,
					tail,
					rollouts: 0,
					skipped: kept + (result?.skipped ?? 0),
					torn: result?.torn ?? false,
					fault: (continues ? before.fault : null) ?? result?.fault ?? null,
				},
				batches: given,
				replaces,
				before: written,
				overlaps: file !== null && (continues || part.bytes > pieceBytes),
			});
			replaces = false;
			written += given.reduce((sum, batch) => sum + batch.rows, 0);
		};
		const take = async (batch: RowBatch) => {
			batches.push(batch);
			rows += batch.rows;
			read(0, batch.rows);
			if (rows >= rowsKept) await put(null, '');
		};
		const result =
			file === null
				? await this.#scan(
						{ kind: 'scanStep', step: { ...part, folder: content.folder, format: content.format } },
						take,
						signal,
					)
				: await this.#pieces(content.folder, file, from, part.bytes, take, signal, (bytes) => read(bytes, 0));
		if (file === null) read(1, 0);
		// The stamp was taken before reading, so a write during reading changes it and the part is read again next time.
		const tail = file === null ? '' : await tailHash(content.folder, file, result.end).catch(() => 'gone');
		await put(result, tail);
		return { ...result, skipped: result.skipped + (continues ? before.skipped : 0) };
	}

	/** Reads a file in chunks, several at a time. The row order is undefined. */
	async #pieces(
		folder: string,
		file: string,
		from: number,
		size: number,
		take: (batch: RowBatch) => Promise<void>,
		signal: AbortSignal,
		read: (bytes: number) => void,
	): Promise<ScanResult> {
		const starts: number[] = [];
		for (let start = from; start < size || starts.length === 0; start += pieceBytes) starts.push(start);
		const results = new Array<ScanResult>(starts.length);
		const work = starts.entries();
		const worker = async () => {
			for (const [i, start] of work) {
				const to = Math.min(size, start + pieceBytes);
				const range = { folder, file, from: start, to, size };
				results[i] = await this.#scan({ kind: 'scanLines', range }, take, signal);
				read(to - start);
			}
		};
		const all = await Promise.allSettled(Array.from({ length: Math.min(starts.length, this.#threads.size) }, worker));
		for (const one of all) if (one.status === 'rejected') throw one.reason;
		return {
			end: results.reduce((end, result) => Math.max(end, result.end), from),
			skipped: results.reduce((sum, result) => sum + result.skipped, 0),
			torn: results.some(({ torn }) => torn),
			fault: results.find(({ fault }) => fault !== null)?.fault ?? null,
			identity: '',
		};
	}

	async #scan(task: IndexTask, take: (batch: RowBatch) => Promise<void>, signal: AbortSignal): Promise<ScanResult> {
		const final = await this.#threads.run(
			task,
			{ report: (report) => (report.kind === 'batch' ? take(report.batch) : undefined) },
			signal,
		);
		if (final.kind !== 'scanned') throw new Failure('internal', 'A worker thread returned an unexpected reply.');
		return final.result;
	}

	async #metrics(key: number, content: RunContent, signal: AbortSignal): Promise<void> {
		const stamp = await metricsStamp(content);
		const { connection } = this.#writer;
		const [row] = await connection.rows(
			'select metrics_stamp, metrics_offset, metrics_tail from run where key = $key',
			{ key },
		);
		const before = String(row?.[0] ?? '');
		if (before === stamp) return;
		const own = content.format === ownFormat;
		const read = Number(row?.[1] ?? 0);
		const tailAt = (position: number) => tailHash(content.folder, runFiles.metrics, position).catch(() => '');
		const grown = own && read > 0 && sameFile(before, stamp) && (await tailAt(read)) === String(row?.[2]);
		const source = own ? ownMetrics(content.folder, grown ? read : 0, signal) : foreignMetrics(content, signal);
		await this.#writer.transaction(async (connection) => {
			let offset = 0;
			if (!grown) await connection.run('delete from metric where run_key = $key', { key });
			const appender = await connection.appender('metric');
			for await (const portion of source) {
				offset = portion.end;
				const columns = {
					steps: [] as bigint[],
					stages: [] as string[],
					names: [] as string[],
					values: [] as (number | null)[],
				};
				for (const { step, stage, values } of portion.lines) {
					for (const name in values) {
						columns.steps.push(BigInt(Math.trunc(step)));
						columns.stages.push(stage);
						columns.names.push(name);
						columns.values.push(values[name] ?? null);
					}
				}
				const rows = columns.steps.length;
				const keys = new Array<number>(rows).fill(key);
				appender.append([keys, columns.steps, columns.stages, columns.names, columns.values], rows);
				await new Promise((resolve) => setImmediate(resolve));
			}
			appender.close();
			const end = Math.max(offset, grown ? read : 0);
			await connection.run(
				`update run set metrics_stamp = $stamp, metrics_offset = $offset::BIGINT, metrics_tail = $tail where key = $key`,
				{ key, stamp, offset: BigInt(end), tail: own ? await tailAt(end) : '' },
			);
		});
	}

	async #evaluations(key: number, content: RunContent): Promise<void> {
		const summaries = await content.evaluations();
		const stamp =
			JSON.stringify(summaries).length + summaries.map(({ step, accuracy }) => `${step} ${accuracy}`).join();
		const [row] = await this.#writer.connection.rows('select evaluations_stamp from run where key = $key', { key });
		if (row?.[0] === stamp) return;
		await this.#writer.transaction(async (connection) => {
			await connection.run('delete from evaluation where run_key = $key', { key });
			const appender = await connection.appender('evaluation');
			for (const { step, name, problems, samples, accuracy, low, high } of summaries) {
				const counts = [problems, samples].map((n) => [Math.trunc(Math.min(2 ** 31 - 1, Math.max(0, n)))]);
				appender.append([[key], [BigInt(Math.trunc(step))], [name], ...counts, [accuracy], [low], [high]], 1);
			}
			appender.close();
			await connection.run('update run set evaluations_stamp = $stamp where key = $key', { key, stamp });
		});
	}
}

function nameOf({ split, step }: Pick<RunPart, 'split' | 'step'>): string {
	return `${split} ${step}`;
}

/**
 * Returns the offset at which to continue reading a file that was appended to, or 0 if it was replaced or rewritten.
 */
async function continuation(folder: string, file: string, part: RunPart, before: KnownPart): Promise<number> {
	if (before.stamp === unfinished || before.indexed === 0 || before.tail === '') return 0;
	if (!sameFile(before.stamp, part.stamp) || part.bytes < before.indexed) return 0;
	const tail = await tailHash(folder, file, before.indexed).catch(() => '');
	return tail === before.tail ? before.indexed : 0;
}
