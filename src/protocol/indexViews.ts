/** A column of a view that users can query with SQL. */
export interface IndexColumn {
	readonly name: string;
	/** Type in DuckDB syntax. */
	readonly type: string;
	readonly meaning: string;
}

export interface IndexView {
	readonly name: string;
	/** Description of a row. */
	readonly rows: string;
	readonly columns: readonly IndexColumn[];
}

const c = (name: string, type: string, meaning: string): IndexColumn => ({ name, type, meaning });

const run = c('run', 'VARCHAR', 'name of the run folder; with parent folders if two runs share it');
const split = c('split', 'VARCHAR', '`train` or `validation`');
const step = c('step', 'BIGINT', 'optimizer update; null where the trainer records none');
const groupId = c('group_id', 'BIGINT', "the rollout's group, unique within run, split and step");
const index = c('index', 'BIGINT', 'index of the rollout within its group');

/**
 * Views that the rollout index provides for SQL. docs/queries.md and the editor's completions are generated from them.
 * A row with `run`, `split`, `step`, `group_id` and `index` identifies a rollout, so a results table can open it.
 */
export const indexViews: readonly IndexView[] = [
	{
		name: 'runs',
		rows: 'a known run',
		columns: [
			run,
			c('folder', 'VARCHAR', 'absolute path'),
			c('format', 'VARCHAR', '`reasoning-lab`, or the name of the format (docs/formats.md)'),
			c('name', 'VARCHAR', 'its name, such as the recipe’s'),
			c('status', 'VARCHAR', 'status when last indexed: `running`, `finished`, `stopped`, ...'),
			c('created', 'TIMESTAMP', 'start time, UTC; null: not recorded'),
			c('steps', 'BIGINT', 'steps that have rollouts; null where the trainer records none'),
			c('last_step', 'BIGINT', 'last step that has rollouts'),
			c('rollouts', 'BIGINT', 'rollouts in the index'),
			c('skipped', 'BIGINT', 'unreadable records'),
		],
	},
	{
		name: 'rollouts',
		rows: 'a rollout: one completion of one prompt',
		columns: [
			run,
			split,
			c('stage', 'VARCHAR', "the run's stage; for other trainers mostly `train` or `validation`"),
			step,
			groupId,
			index,
			c('prompt_hash', 'VARCHAR', 'hash of the prompt, equal in every step and run (16 hexadecimal digits)'),
			c('reward', 'DOUBLE', 'total reward; null: it failed or was not recorded'),
			c('rewards', 'MAP(VARCHAR, DOUBLE)', "components by name: `rewards['accuracy']`"),
			c('advantage', 'DOUBLE', 'null: not recorded'),
			c(
				'correct',
				'BOOLEAN',
				'whether the component that judges the answer gave its full value; null: no such component',
			),
			c('truncated', 'BOOLEAN', 'truncated at the length limit; null: not recorded'),
			c('tokens', 'INTEGER', 'tokens of the completion; null: not recorded'),
			c(
				'characters',
				'INTEGER',
				'UTF-16 code units of the displayed completion, with message roles; null, like all text statistics: the text was not recorded',
			),
			c('turns', 'INTEGER', 'assistant messages; 1 for plain text; null as for `characters`'),
			c('verification', 'INTEGER', 'phrases that check a result'),
			c('backtracking', 'INTEGER', 'phrases that abandon a path for another'),
			c('subgoal_setting', 'INTEGER', 'phrases that break the problem into steps'),
			c('backward_chaining', 'INTEGER', 'phrases that work backward from the goal'),
			c('reflection', 'INTEGER', 'phrases that pause to reconsider'),
			c('repetition', 'DOUBLE', 'share of word 4-grams that are repeated, 0 to 1; null: fewer than four words'),
			c('has_tokens', 'BOOLEAN', 'token texts and log-probabilities are recorded'),
			c('file', 'VARCHAR', 'file with its text, relative to the run'),
			c('byte_offset', 'BIGINT', 'offset of its record in a file of lines; else 0'),
			c('byte_length', 'BIGINT', 'length of its record; 0 in files without lines'),
			c('item', 'BIGINT', 'index of the rollout in the record or file'),
		],
	},
	{
		name: 'groups',
		rows: 'the rollouts of one prompt in one step',
		columns: [
			run,
			split,
			step,
			groupId,
			c('prompt_hash', 'VARCHAR', 'prompt hash of its first rollout'),
			c('rollouts', 'BIGINT', 'how many'),
			c('reward_mean', 'DOUBLE', 'mean over rollouts with a reward'),
			c('reward_std', 'DOUBLE', 'sample standard deviation (n - 1); null: fewer than two have a reward'),
			c('dead', 'BOOLEAN', 'all rewards are equal, so all advantages are 0; null: fewer than two have a reward'),
			c('correct', 'BIGINT', 'number of correct rollouts; null: no reward judges the answer'),
			c('truncated', 'BIGINT', 'number of truncated rollouts; null: not recorded'),
			c('characters_mean', 'DOUBLE', 'mean length of a completion'),
		],
	},
	{
		name: 'reward_components',
		rows: 'one component of the reward of one rollout',
		columns: [
			run,
			split,
			step,
			groupId,
			index,
			c('name', 'VARCHAR', 'name of the component'),
			c('value', 'DOUBLE', 'unweighted, as recorded; null: it failed'),
		],
	},
	{
		name: 'metrics',
		rows: 'one value of one metric at one step',
		columns: [
			run,
			step,
			c('stage', 'VARCHAR', 'null: not recorded'),
			c('name', 'VARCHAR', 'canonical name if there is one (docs/metrics.md), else the trainer’s'),
			c('value', 'DOUBLE', 'non-finite values are null'),
		],
	},
	{
		name: 'evaluations',
		rows: 'one evaluation on held-out problems',
		columns: [
			run,
			step,
			c('name', 'VARCHAR', '`heldout`, or the run’s name for it'),
			c('problems', 'INTEGER', 'how many'),
			c('samples', 'INTEGER', 'samples per problem'),
			c('accuracy', 'DOUBLE', 'mean over problems, 0 to 1'),
			c('low', 'DOUBLE', 'lower bound of the 95% interval'),
			c('high', 'DOUBLE', 'upper bound'),
		],
	},
];
