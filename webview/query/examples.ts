export interface Example {
	readonly title: string;
	readonly sql: string;
}

/** Example statements, each of which is run by unit tests. */
export const examples: readonly Example[] = [
	{
		title: 'Groups with the highest reward variance',
		sql: `SELECT g.run, g.split, g.step, g.group_id, 0 AS "index", g.rollouts, g.reward_mean, g.reward_std
FROM groups g
WHERE NOT g.dead
ORDER BY g.reward_std DESC
LIMIT 100`,
	},
	{
		title: 'Percentage of dead groups over training',
		sql: `SELECT run, step, count(*) AS groups, avg(dead::INTEGER) AS dead_share
FROM groups
WHERE split = 'train'
GROUP BY run, step
ORDER BY run, step`,
	},
	{
		title: 'Correct answers with a low reward',
		sql: `SELECT run, split, step, group_id, "index", reward, rewards, characters
FROM rollouts
WHERE correct
ORDER BY reward
LIMIT 200`,
	},
	{
		title: 'Reward components by run',
		sql: `SELECT run, name, count(value) AS values, avg(value) AS mean, stddev_samp(value) AS std
FROM reward_components
GROUP BY run, name
ORDER BY run, name`,
	},
	{
		title: 'Longest untruncated completions',
		sql: `SELECT run, split, step, group_id, "index", characters, reward
FROM rollouts
WHERE NOT truncated
ORDER BY characters DESC
LIMIT 100`,
	},
	{
		title: 'Backtracking and accuracy over training',
		sql: `SELECT run, step, avg((backtracking > 0)::INTEGER) AS backtracks, avg(correct::INTEGER) AS correct
FROM rollouts
WHERE split = 'train'
GROUP BY run, step
ORDER BY run, step`,
	},
	{
		title: 'Same prompt over training',
		sql: `SELECT prompt_hash, count(DISTINCT step) AS steps, avg(correct::INTEGER) AS correct,
	max_by(correct::INTEGER, step) - min_by(correct::INTEGER, step) AS change
FROM rollouts
GROUP BY prompt_hash
HAVING count(DISTINCT step) > 1
ORDER BY change DESC, steps DESC
LIMIT 200`,
	},
	{
		title: 'Tool calls by name',
		sql: `SELECT run, name, count(*) AS calls, avg(failed::INTEGER) AS failed, avg(characters) AS result_characters
FROM calls
GROUP BY run, name
ORDER BY calls DESC`,
	},
	{
		title: 'Episodes with the most failed calls',
		sql: `SELECT run, split, step, group_id, "index", count(*) AS turns, sum(calls) AS calls, sum(failures) AS failures
FROM turns
GROUP BY ALL
HAVING sum(failures) > 0
ORDER BY failures DESC
LIMIT 200`,
	},
	{
		title: 'Best held-out accuracy per run',
		sql: `SELECT run, name, max(accuracy) AS best, max_by(step, accuracy) AS at_step
FROM evaluations
GROUP BY run, name
ORDER BY best DESC`,
	},
];
