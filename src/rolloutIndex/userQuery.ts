import { Failure } from '../base/failure.ts';
import type { Cell, ResultTable } from '../protocol/rolloutIndex.ts';
import { cellOf } from './cells.ts';
import type { Connection, Database, SqlResult, SqlValue } from './duckdb.ts';
import { checkStatement, sqlFailure } from './statementCheck.ts';

export interface QueryLimits {
	readonly rows: number;
	/** Number of rows to skip; default 0. */
	readonly offset?: number | undefined;
	readonly timeoutMs: number;
	/** Memory limit for the whole process in MB; a statement that exceeds it is stopped. */
	readonly processMb: number;
}

export type Parameters = Readonly<Record<string, Cell>>;

/** Maximum total size of all cells in a result, in characters. */
const maxCharacters = 16 << 20;
/** Time allowed for a statement to stop after it is interrupted. A statement whose memory keeps growing gets less. */
const graceMs = 3000;
const memoryGraceMs = 1000;
const watchEveryMs = 100;

export type RowTable = Omit<ResultTable, 'refs'>;

/**
 * Runs user statements after checking them, each in a read-only transaction on a separate connection, with limits on
 * time, rows and memory.
 */
export class UserQueries {
	readonly #database: Database;
	/** Called if a statement does not stop when it should; the process should exit. */
	readonly #onStuck: () => void;
	readonly #running = new Set<Connection>();

	constructor(database: Database, onStuck: () => void) {
		this.#database = database;
		this.#onStuck = onStuck;
	}

	/** Fails with `denied`, `invalid`, `timeout`, `full` or `cancelled`. */
	async table(sql: string, parameters: Parameters, limits: QueryLimits, signal?: AbortSignal): Promise<RowTable> {
		const start = performance.now();
		return await this.#stream(sql, parameters, limits, signal, async (result) => {
			const rows: Cell[][] = [];
			let characters = 0;
			let truncated = false;
			let skip = limits.offset ?? 0;
			const columns = result.columnNames().map((name, i) => ({ name, type: String(result.columnType(i)) }));
			for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; ) {
				const skipped = Math.min(skip, chunk.rowCount);
				skip -= skipped;
				for (const row of skipped === chunk.rowCount ? [] : chunk.getRows().slice(skipped)) {
					truncated = rows.length >= limits.rows || characters > maxCharacters;
					if (truncated) break;
					const cells = row.map(cellOf);
					for (const cell of cells) characters += typeof cell === 'string' ? cell.length : 8;
					rows.push(cells);
				}
				if (truncated) break;
				chunk = await result.fetchChunk();
			}
			return { columns, rows, truncated, millis: performance.now() - start };
		});
	}

	/** Passes a result to a consumer chunk by chunk; the time limit applies to the consumer too. */
	async each<T>(
		sql: string,
		parameters: Parameters,
		limits: Omit<QueryLimits, 'rows'>,
		signal: AbortSignal | undefined,
		take: (result: SqlResult) => Promise<T>,
	): Promise<T> {
		return await this.#stream(sql, parameters, limits, signal, take);
	}

	async #stream<T>(
		sql: string,
		parameters: Parameters,
		limits: Omit<QueryLimits, 'rows'>,
		signal: AbortSignal | undefined,
		take: (result: SqlResult) => Promise<T>,
	): Promise<T> {
		if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
		const connection = await this.#database.connect();
		this.#running.add(connection);
		let stopped: Failure | null = null;
		let giveUp: (failure: Failure) => void = () => undefined;
		const givenUp = new Promise<never>((_, reject) => {
			giveUp = reject;
		});
		givenUp.catch(() => undefined);
		let grace: NodeJS.Timeout | undefined;
		const stop = (failure: Failure) => {
			if (stopped !== null) return;
			stopped = failure;
			connection.interrupt();
			grace = setTimeout(
				() => {
					giveUp(failure);
					this.#onStuck();
				},
				failure.reason === 'full' ? memoryGraceMs : graceMs,
			);
		};
		const cancel = () => stop(new Failure('cancelled', 'Canceled.'));
		signal?.addEventListener('abort', cancel, { once: true });
		const started = Date.now();
		const watching = setInterval(() => {
			const over = process.memoryUsage.rss() / 2 ** 20 / limits.processMb;
			if (stopped !== null) {
				// A single step can use all available memory before it checks for an interrupt.
				if (over > 2) {
					giveUp(stopped);
					this.#onStuck();
				}
				connection.interrupt(); // Interrupt again, because a statement that was between two steps missed the first interrupt.
			} else if (Date.now() - started > limits.timeoutMs) {
				stop(
					new Failure(
						'timeout',
						`The statement took longer than ${limits.timeoutMs / 1000} s.`,
						'Narrow the filter, or request less data.',
					),
				);
			} else if (over > 1) {
				stop(new Failure('full', 'The statement needs too much memory.', 'Filter first, or use GROUP BY.'));
			}
		}, watchEveryMs);
		const run = async (): Promise<T> => {
			const checked = await checkStatement(connection, sql);
			const values: Record<string, SqlValue> = {};
			for (const name of checked.parameters) {
				if (!Object.hasOwn(parameters, name)) {
					throw new Failure('invalid', `The statement uses the parameter $${name}, but no value was given for it.`);
				}
				values[name] = parameters[name] as Cell;
			}
			await connection.run('begin transaction read only');
			if (stopped !== null) throw stopped;
			const result = await connection.stream(checked.sql, values);
			return await take(result);
		};
		const work = run();
		const settled = work.then(
			() => undefined,
			() => undefined,
		);
		try {
			return await Promise.race([work, givenUp]);
		} catch (error) {
			throw stopped ?? sqlFailure(error);
		} finally {
			clearInterval(watching);
			signal?.removeEventListener('abort', cancel);
			void settled.then(() => {
				clearTimeout(grace);
				this.#running.delete(connection);
				connection.interrupt();
				connection.close();
			});
		}
	}
}
