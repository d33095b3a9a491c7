import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { indexViews } from '../../../../src/protocol/indexViews.ts';

/**
 * Creates a database with the documented views as tables and a few rows, so that DuckDB itself interprets the
 * statements.
 */
export async function queryTables(): Promise<DuckDBConnection> {
	const connection = await (await DuckDBInstance.create(':memory:')).connect();
	for (const { name, columns } of indexViews) {
		const list = columns.map((column) => `"${column.name}" ${column.type}`).join(', ');
		await connection.run(`CREATE TABLE ${name} (${list})`);
	}
	await connection.run(
		`INSERT INTO runs (run, folder, rollouts) VALUES ('a', '/runs/a', 120), ('b', '/runs/b''s', 120)`,
	);
	// Two runs of three steps and five groups of eight: rewards 0 to 0.7, correct from 0.4 on, and one in ten truncated.
	await connection.run(`INSERT INTO rollouts BY NAME
		SELECT run, 'train' AS split, step, group_id, i AS "index", i / 10 AS reward,
			MAP {'accuracy': CASE WHEN i >= 4 THEN 1 ELSE 0 END, 'it''s "odd"': i / 100} AS rewards,
			CASE WHEN step = 3 THEN NULL ELSE i - 3.5 END AS advantage,
			i >= 4 AS correct, (group_id * 8 + i) % 10 = 0 AS truncated, 10 * i AS characters, 'grpo' AS stage,
			'hash' || group_id AS prompt_hash
		FROM (VALUES ('a'), ('b')) runs(run), range(1, 4) steps(step), range(0, 5) groups(group_id), range(0, 8) r(i)`);
	await connection.run(`INSERT INTO groups BY NAME
		SELECT run, split, step, group_id, count(*) AS rollouts, avg(reward) AS reward_mean, stddev_samp(reward) AS reward_std,
			min(reward) = max(reward) AS dead
		FROM rollouts GROUP BY ALL`);
	await connection.run(`INSERT INTO reward_components BY NAME
		SELECT run, split, step, group_id, "index", 'accuracy' AS name, rewards['accuracy'] AS value FROM rollouts`);
	return connection;
}

/** Returns rows by column name, with numbers converted to number. */
export async function rowsOf(connection: DuckDBConnection, sql: string): Promise<Record<string, unknown>[]> {
	const reader = await connection.runAndReadAll(sql);
	return reader
		.getRowObjects()
		.map((row) =>
			Object.fromEntries(
				Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
			),
		);
}
