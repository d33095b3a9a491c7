import { createHash } from 'node:crypto';
import type { Connection } from './duckdb.ts';
import { turnsType } from './turnRow.ts';

/** Version of the row contents. Increase it when text is counted differently, so that indexes are rebuilt. */
const rowsVersion = 3;

const tables = `
create table run (
	key INTEGER, folder VARCHAR, label VARCHAR, format VARCHAR, name VARCHAR, status VARCHAR, created DOUBLE,
	attempt INTEGER, has_steps BOOLEAN, metrics_stamp VARCHAR, metrics_offset BIGINT, metrics_tail VARCHAR, evaluations_stamp VARCHAR
);
-- The rollouts of one step and split, and how much of their file was read.
create table part (
	run_key INTEGER, split VARCHAR, step BIGINT, file VARCHAR, stamp VARCHAR, bytes BIGINT, indexed BIGINT, tail VARCHAR,
	rollouts INTEGER, skipped INTEGER, torn INTEGER, first_fault VARCHAR
);
-- The step is that of the part, even if the rollout itself has none.
create table rollout (
	run_key INTEGER, split VARCHAR, step BIGINT, group_id BIGINT, "index" BIGINT, reward DOUBLE, advantage DOUBLE,
	correct BOOLEAN, truncated BOOLEAN, tokens INTEGER, characters INTEGER, turns INTEGER, verification INTEGER,
	backtracking INTEGER, subgoal_setting INTEGER, backward_chaining INTEGER, reflection INTEGER, repetition DOUBLE,
	weights BIGINT, staleness BIGINT, has_tokens BOOLEAN, has_step BOOLEAN, byte_offset BIGINT, byte_length BIGINT, item BIGINT, stage VARCHAR, prompt_hash VARCHAR,
	file VARCHAR, rewards MAP(VARCHAR, DOUBLE), turn_list ${turnsType}
);
create table metric (run_key INTEGER, step BIGINT, stage VARCHAR, name VARCHAR, value DOUBLE);
create table evaluation (
	run_key INTEGER, step BIGINT, name VARCHAR, problems INTEGER, samples INTEGER, accuracy DOUBLE, low DOUBLE, high DOUBLE
);
`;

const views = `
create view runs as
	select label as run, folder, format, r.name, status,
		make_timestamp((created * 1e6)::BIGINT) as created,
		case when has_steps then coalesce(p.steps, 0) end as steps, case when has_steps then p.last_step end as last_step, coalesce(p.rollouts, 0) as rollouts, coalesce(p.skipped, 0) as skipped
	from run r left join (
		select run_key, count(distinct step) as steps, max(step) as last_step, sum(rollouts)::BIGINT as rollouts,
			sum(skipped + torn)::BIGINT as skipped
		from part group by run_key
	) p on p.run_key = r.key;
create view rollouts as
	select r.label as run, split, stage, case when has_step then step end as step, group_id, "index", prompt_hash, reward, rewards, advantage, correct,
		truncated, tokens, characters, turns, verification, backtracking, subgoal_setting, backward_chaining, reflection,
		repetition, weights, staleness, has_tokens, file, byte_offset, byte_length, item
	from rollout join run r on r.key = rollout.run_key;
create view groups as
	select run, split, step, group_id, first(prompt_hash) as prompt_hash, count(*) as rollouts, avg(reward) as reward_mean,
		case when min(reward) = max(reward) and count(reward) > 1 then 0 else stddev_samp(reward) end as reward_std,
		case when count(reward) > 1 then min(reward) = max(reward) end as dead,
		case when count(correct) > 0 then count(*) filter (correct) end as correct,
		case when count(truncated) > 0 then count(*) filter (truncated) end as truncated,
		avg(characters) as characters_mean
	from rollouts group by all;
create view reward_components as
	select run, split, step, group_id, "index", unnest(map_keys(rewards)) as name, unnest(map_values(rewards)) as value
	from rollouts;
create view turns as
	select run, split, step, group_id, "index", turn, t.message as message, len(t.calls)::INTEGER as calls, t.failures as failures,
		t.reward as reward, t.seconds as seconds, t.state as state
	from (
		select r.label as run, split, case when has_step then step end as step, group_id, "index",
			unnest(range(1, len(turn_list) + 1)) as turn, unnest(turn_list) as t
		from rollout join run r on r.key = rollout.run_key where turn_list is not null
	);
create view calls as
	select run, split, step, group_id, "index", turn, call, c.name as name, c.arguments as arguments, c.failed as failed,
		c.characters as characters
	from (
		select run, split, step, group_id, "index", turn, unnest(range(1, len(t.calls) + 1)) as call, unnest(t.calls) as c
		from (
			select r.label as run, split, case when has_step then step end as step, group_id, "index",
				unnest(range(1, len(turn_list) + 1)) as turn, unnest(turn_list) as t
			from rollout join run r on r.key = rollout.run_key where turn_list is not null
		)
	);
create view metrics as
	select r.label as run, step, stage, m.name, value from metric m join run r on r.key = m.run_key;
create view evaluations as
	select r.label as run, case when has_steps then step end as step, e.name, problems, samples, accuracy, low, high
	from evaluation e join run r on r.key = e.run_key;
`;

/** Changes whenever tables, views or the meaning of rows change. */
export const schemaVersion = createHash('sha256').update(`${rowsVersion}${tables}${views}`).digest('hex').slice(0, 16);

export async function createSchema(connection: Connection): Promise<void> {
	await connection.run('begin');
	await connection.run(tables);
	await connection.run(views);
	await connection.run('create table version (version VARCHAR)');
	await connection.run('insert into version values ($version)', { version: schemaVersion });
	await connection.run('commit');
}

/** Returns whether the file has the tables of this version; false for a new file. */
export async function hasSchema(connection: Connection): Promise<boolean> {
	const tables = await connection.rows("select 1 from duckdb_tables() where table_name = 'version'");
	if (tables.length === 0) return false;
	const [row] = await connection.rows('select version from version');
	return row?.[0] === schemaVersion;
}
