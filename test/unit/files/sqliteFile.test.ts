import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { columnsIn, namedValues, SqliteFile } from '../../../src/files/sqliteFile.ts';
import type { SqliteValue } from '../../../src/files/sqliteRecord.ts';

let folder: string;
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'sqlite-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function database(name: string, ...statements: string[]): Promise<DatabaseSync> {
	const { DatabaseSync } = await import('node:sqlite');
	const made = new DatabaseSync(join(folder, name));
	for (const statement of statements) made.exec(statement);
	return made;
}

async function rowsOf(name: string, table: string, within = folder) {
	const file = await SqliteFile.open(within, name);
	const found = file.table(table);
	const rows: Record<string, SqliteValue>[] = [];
	const faults: string[] = [];
	for await (const row of found?.table.rows() ?? []) {
		if (row.fault !== null) faults.push(row.fault);
		else if (found) rows.push(namedValues(found, row.rowid, row.values));
	}
	await file.close();
	return { rows, faults };
}

/** Returns all rows as SQLite reads them. */
const wanted = (made: DatabaseSync, table: string) =>
	made
		.prepare(`select * from ${table} order by rowid`)
		.all()
		.map((row) => ({ ...row }));

const create = 'create table t (id integer primary key autoincrement, text text, number real, data blob)';

function fill(made: DatabaseSync, count: number): void {
	const insert = made.prepare('insert into t (text, number, data) values (?, ?, ?)');
	made.exec('begin');
	for (let i = 0; i < count; i++) {
		// Every hundredth row continues on overflow pages.
		insert.run(
			`é${'x'.repeat(i % 100 === 0 ? 20_000 : i % 50)}`,
			i % 7 === 0 ? null : i / 3,
			new Uint8Array([i & 255]),
		);
	}
	made.exec('commit');
}

/** Values are Buffers here and Uint8Arrays in SQLite. */
const plain = (rows: readonly object[]) =>
	rows.map((row) =>
		Object.fromEntries(
			Object.entries(row).map(([key, value]) => [key, value instanceof Uint8Array ? [...value] : value]),
		),
	);

describe('an SQLite database', () => {
	for (const pages of [512, 4096, 65536]) {
		test(`is read as SQLite reads it, with pages of ${pages} bytes`, async () => {
			const name = `pages${pages}.db`;
			const made = await database(name, `pragma page_size = ${pages}`, create);
			fill(made, 700);
			made.exec('delete from t where id % 5 = 0');
			made.exec('alter table t add column late text');
			made.exec("insert into t (text, late) values ('last', 'yes')");
			const { rows, faults } = await rowsOf(name, 't');
			assert.deepEqual(faults, []);
			assert.equal(rows.length, 561);
			assert.deepEqual(plain(rows), plain(wanted(made, 't')));
			const file = await SqliteFile.open(folder, name);
			const table = file.table('t')?.table;
			for (const id of [1, 2, 333, 701]) {
				const row = await table?.row(id);
				const [other] = plain(made.prepare('select text from t where id = ?').all(id));
				assert.equal(row?.fault === null ? row.values[1] : null, other?.text);
			}
			assert.equal(await table?.row(5), null);
			const newest = await table?.newest();
			assert.equal(newest?.rowid, 701);
			await file.close();
			made.close();
		});
	}

	test('has numbers of all sizes', async () => {
		const made = await database('numbers.db', 'create table n (value)');
		const values = [
			0,
			1,
			-1,
			127,
			-129,
			32768,
			-8388609,
			2 ** 31,
			2 ** 45,
			2 ** 53 - 1,
			2n ** 62n,
			-(2n ** 63n),
			1.5,
			1e300,
		];
		for (const value of values) made.prepare('insert into n values (?)').run(value);
		const { rows } = await rowsOf('numbers.db', 'n');
		assert.deepEqual(
			rows.map(({ value }) => value),
			values,
		);
		made.close();
	});

	test('is read with the transactions in its log while a writer has it open, and nothing is written', async () => {
		const made = await database('wal.db', 'pragma journal_mode = wal', 'pragma wal_autocheckpoint = 0', create);
		fill(made, 300);
		made.exec("update t set text = 'changed' where id = 7");
		made.exec('begin');
		made.exec("insert into t (text) values ('not committed')");
		const copy = await mkdtemp(join(tmpdir(), 'sqlite-copy-'));
		for (const name of ['wal.db', 'wal.db-wal']) await copyFile(join(folder, name), join(copy, name));
		const { rows, faults } = await rowsOf('wal.db', 't', copy);
		assert.deepEqual(faults, []);
		assert.equal(rows.length, 300);
		assert.equal(rows[6]?.text, 'changed');
		assert.deepEqual((await readdir(copy)).sort(), ['wal.db', 'wal.db-wal']);
		made.exec('commit');
		assert.equal((await rowsOf('wal.db', 't')).rows.length, 301);
		// A frame that was not written completely ends the log.
		const log = await readFile(join(folder, 'wal.db-wal'));
		await writeFile(join(copy, 'wal.db-wal'), log.subarray(0, log.length - 100));
		assert.equal((await rowsOf('wal.db', 't', copy)).rows.length, 300);
		made.close();
		assert.equal((await rowsOf('wal.db', 't')).rows.length, 301);
		await rm(copy, { recursive: true });
	});

	test('is read around damaged pages, which are reported', async () => {
		const made = await database('damaged.db', create);
		fill(made, 2000);
		made.close();
		const bytes = await readFile(join(folder, 'damaged.db'));
		const page = 4096;
		for (const number of [6, 9]) bytes.fill(0xff, (number - 1) * page, number * page);
		await writeFile(join(folder, 'damaged.db'), bytes);
		const { rows, faults } = await rowsOf('damaged.db', 't');
		assert.ok(rows.length > 1500 && rows.length < 2000, `${rows.length} rows`);
		assert.ok(faults.length > 0);
		await writeFile(join(folder, 'cut.db'), bytes.subarray(0, 10 * page));
		assert.ok((await rowsOf('cut.db', 't')).faults.length > 0);
		await writeFile(join(folder, 'text.db'), 'not a database');
		await assert.rejects(SqliteFile.open(folder, 'text.db'), /not an SQLite database/);
	});

	test('has the columns in its schema, however they are written', () => {
		const sql = `CREATE TABLE "a" (
			"my id" INTEGER PRIMARY KEY, [b c] TEXT DEFAULT 'x, (y', \`d\` NUMERIC(10, 2) CHECK (d > 0),
			e, f INT GENERATED ALWAYS AS (e + 1), g INT AS (e + 2) STORED, UNIQUE (e), CONSTRAINT k FOREIGN KEY (e) REFERENCES o (p))`;
		assert.deepEqual(columnsIn(sql), { columns: ['my id', 'b c', 'd', 'e', 'g'], rowidColumn: 0 });
		assert.deepEqual(columnsIn('CREATE TABLE a (x TEXT, id INTEGER NOT NULL, PRIMARY KEY (id))'), {
			columns: ['x', 'id'],
			rowidColumn: 1,
		});
		assert.deepEqual(columnsIn('CREATE TABLE a (id TEXT PRIMARY KEY, b INT)'), {
			columns: ['id', 'b'],
			rowidColumn: null,
		});
	});
});
