import { Sequencer } from '../base/async.ts';
import { formatCounted } from '../base/format.ts';
import type { RolloutSplit } from '../runs/runContent.ts';
import type { Connection } from './duckdb.ts';
import type { RowBatch } from './rolloutRow.ts';
import { appendRows } from './rowWriter.ts';

/** Information that the index stores about a part. */
export interface KnownPart {
	readonly split: RolloutSplit;
	readonly step: number;
	readonly stamp: string;
	readonly bytes: number;
	/** Number of bytes read from the part's file. */
	readonly indexed: number;
	readonly tail: string;
	readonly rollouts: number;
	readonly skipped: number;
	readonly torn: boolean;
	readonly fault: string | null;
	readonly file: string | null;
}

interface PartWrite {
	readonly runKey: number;
	/** State of the part once everything is written; its `rollouts` are counted during the write. */
	readonly part: KnownPart;
	readonly batches: readonly RowBatch[];
	/** Whether to delete existing rows of the part first. */
	readonly replaces: boolean;
	/** Number of rollouts that were added by an earlier read of the part and are still present. */
	readonly before: number;
	/** Whether the rows can duplicate existing rows of the part. */
	readonly overlaps: boolean;
}

/** Stamp of an incomplete part. No file has this stamp, so the part is read again. */
export const unfinished = '';

/** Maximum number of rows per transaction, so that writing them does not keep requests waiting for long. */
const rowsPerTransaction = 10_000;

/**
 * The only writer of the index. Related changes share a transaction, so that a crash leaves nothing half written. Small
 * parts are batched.
 */
export class IndexWriter {
	readonly connection: Connection;
	readonly #turns = new Sequencer();
	#waiting: PartWrite[] = [];
	#rows = 0;

	constructor(connection: Connection) {
		this.connection = connection;
	}

	/** Writes a part immediately or batches it with later ones. */
	async put(write: PartWrite): Promise<void> {
		this.#waiting.push(write);
		this.#rows += write.batches.reduce((sum, { rows }) => sum + rows, 0);
		if (this.#rows >= rowsPerTransaction || this.#waiting.length >= 500) await this.flush();
	}

	async flush(): Promise<void> {
		const writes = this.#waiting;
		if (writes.length === 0) return;
		this.#waiting = [];
		this.#rows = 0;
		await this.transaction(async (connection) => {
			for (const write of writes) {
				const at = { run: write.runKey, split: write.part.split, step: BigInt(write.part.step) };
				const here = 'run_key = $run and split = $split and step = $step';
				if (write.replaces) await connection.run(`delete from rollout where ${here}`, at);
				if (write.replaces || write.before > 0) await connection.run(`delete from part where ${here}`, at);
			}
			const rollouts = await connection.appender('rollout');
			for (const { runKey, part, batches } of writes) {
				for (const batch of batches) {
					appendRows(rollouts, { runKey, split: part.split, step: part.step }, batch);
					// Let waiting requests run.
					await new Promise((resolve) => setImmediate(resolve));
				}
			}
			rollouts.close();
			const parts = await connection.appender('part');
			for (const write of writes) {
				const added = write.batches.reduce((sum, { rows }) => sum + rows, 0);
				const { part } = write;
				let { skipped, fault } = part;
				let total = write.before + added;
				if (write.overlaps && part.stamp !== unfinished) {
					const repeated = await removeRepeated(connection, write);
					skipped += repeated;
					total -= repeated;
					if (repeated > 0) fault ??= `${part.file}: repeats ${formatCounted(repeated, 'rollout')}`;
				}
				parts.append(
					[
						[write.runKey],
						[part.split],
						[BigInt(part.step)],
						[part.file],
						[part.stamp],
						[BigInt(part.bytes)],
						[BigInt(part.indexed)],
						[part.tail],
						[total],
						[Math.min(skipped, 2 ** 31 - 1)],
						[Number(part.torn)],
						[fault === null ? null : fault.slice(0, 1000)],
					],
					1,
				);
			}
			parts.close();
		});
	}

	/** Runs the work in a transaction, so that either all of it takes effect or none of it does. */
	transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
		return this.#turns.queue(async () => {
			const { connection } = this;
			await connection.run('begin');
			try {
				const result = await work(connection);
				await connection.run('commit');
				return result;
			} catch (error) {
				await connection.run('rollback').catch(() => undefined);
				throw error;
			}
		});
	}
}

/** Keeps the first of several rollouts with the same group and index, as when the file is read in one pass. */
async function removeRepeated(connection: Connection, { runKey, part }: PartWrite): Promise<number> {
	const at = { run: runKey, split: part.split, step: BigInt(part.step) };
	const repeated = `select rowid from (
		select rowid, row_number() over (partition by group_id, "index" order by byte_offset, rowid) as n
		from rollout where run_key = $run and split = $split and step = $step
	) where n > 1`;
	const [row] = await connection.rows(`select count(*) from (${repeated})`, at);
	const count = Number(row?.[0] ?? 0);
	if (count > 0) await connection.run(`delete from rollout where rowid in (${repeated})`, at);
	return count;
}
