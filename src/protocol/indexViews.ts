/** A column of a view that SQL of people sees. */
export interface IndexColumn {
	readonly name: string;
	/** As DuckDB writes it. */
	readonly type: string;
	readonly meaning: string;
}

export interface IndexView {
	readonly name: string;
	/** What a row is. */
	readonly rows: string;
	readonly columns: readonly IndexColumn[];
}

const c = (name: string, type: string, meaning: string): IndexColumn => ({ name, type, meaning });

const run = c('run', 'VARCHAR', "name of the run's folder; where two runs have the same, with the folders above it");
const split = c('split', 'VARCHAR', '`train` or `validation`');
const step = c('step', 'BIGINT', 'optimizer update; null where the trainer records none');
const groupId = c('group_id', 'BIGINT', "the rollout's group, unique within run, split and step");
const index = c('index', 'BIGINT', 'of the rollout within its group');

/**
 * What the rollout index offers to SQL: the source of docs/queries.md and of the completions in the editor. A row that has `run`,
 * `split`, `step`, `group_id` and `index` names a rollout, so that the table of a result can open it.
 */
export const indexViews: readonly IndexView[] = [
	{
		name: 'runs',
		rows: 'a run that is known',
		columns: [
			run,
			c('folder', 'VARCHAR', 'where it lies, absolute'),
			c('format', 'VARCHAR', '`reasoning-lab`, or the name of the format (docs/formats.md)'),
			c('name', 'VARCHAR', 'the name that it was given, such as its recipe’s'),
			c('status', 'VARCHAR', 'as it was when it was last indexed: `running`, `finished`, `stopped`, ...'),
			c('created', 'TIMESTAMP', 'when it began, UTC; null: not recorded'),
			c('steps', 'BIGINT', 'steps that have rollouts; null where the trainer records none'),
			c('last_step', 'BIGINT', 'the last of them'),
			c('rollouts', 'BIGINT', 'rollouts in the index'),
			c('skipped', 'BIGINT', 'records that could not be read'),
		],
	},
	{
		name: 'rollouts',
		rows: 'a rollout: one completion of one prompt',
		columns: [
			run,
			split,
			c('stage', 'VARCHAR', "the run's stage; of other trainers’ runs mostly `train` or `validation`"),
			step,
			groupId,
			index,
			c('prompt_hash', 'VARCHAR', 'the same for the same prompt, in every step and run (16 hexadecimal digits)'),
			c('reward', 'DOUBLE', 'total reward; null: it failed or was not recorded'),
			c('rewards', 'MAP(VARCHAR, DOUBLE)', "components by name: `rewards['accuracy']`"),
			c('advantage', 'DOUBLE', 'null: not recorded'),
			c(
				'correct',
				'BOOLEAN',
				'whether the component that judges the answer gave its full value; null: there is none that says so',
			),
			c('truncated', 'BOOLEAN', 'cut off at the length limit; null: not recorded'),
			c('tokens', 'INTEGER', 'of the completion; null: not recorded'),
			c(
				'characters',
				'INTEGER',
				'UTF-16 code units of the completion as it is shown; messages are headed by their roles; null, as all that is counted in the text: the text was not recorded',
			),
			c('turns', 'INTEGER', "the assistant's messages; 1 for a text; null as for `characters`"),
			c('verification', 'INTEGER', 'phrases that check a result'),
			c('backtracking', 'INTEGER', 'phrases that give up a path and take another'),
			c('subgoal_setting', 'INTEGER', 'phrases that break the problem into steps'),
			c('backward_chaining', 'INTEGER', 'phrases that work from the goal back'),
			c('reflection', 'INTEGER', 'phrases that pause to think again'),
			c(
				'repetition',
				'DOUBLE',
				'share of the 4-grams of words that had occurred before, 0 to 1; null: fewer than four words',
			),
			c('has_tokens', 'BOOLEAN', 'token texts and log-probabilities are recorded'),
			c('file', 'VARCHAR', 'where its text lies, relative to the run'),
			c('byte_offset', 'BIGINT', 'of its record in the file, where the file has lines; else 0'),
			c('byte_length', 'BIGINT', 'of its record; 0 in files without lines'),
			c('item', 'BIGINT', 'which rollout of the record, or of the file'),
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
			c('prompt_hash', 'VARCHAR', 'of its first rollout'),
			c('rollouts', 'BIGINT', 'how many'),
			c('reward_mean', 'DOUBLE', 'over those that have a reward'),
			c('reward_std', 'DOUBLE', 'of the sample (n - 1); null: fewer than two have a reward'),
			c(
				'dead',
				'BOOLEAN',
				'all rewards are equal, so that no advantage differs from 0; null: fewer than two have a reward',
			),
			c('correct', 'BIGINT', 'how many are; null: no reward of the group says so'),
			c('truncated', 'BIGINT', 'how many are; null: not recorded of any'),
			c('characters_mean', 'DOUBLE', 'length of a completion'),
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
			c('name', 'VARCHAR', 'of the component'),
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
			c('name', 'VARCHAR', 'canonical where the metric is the canonical one (docs/metrics.md), else the trainer’s'),
			c('value', 'DOUBLE', 'what is not finite is null'),
		],
	},
	{
		name: 'evaluations',
		rows: 'one evaluation on held-out problems',
		columns: [
			run,
			step,
			c('name', 'VARCHAR', '`heldout`, or what the run calls it'),
			c('problems', 'INTEGER', 'how many'),
			c('samples', 'INTEGER', 'of each'),
			c('accuracy', 'DOUBLE', 'mean over the problems, 0 to 1'),
			c('low', 'DOUBLE', 'lower end of the 95% interval'),
			c('high', 'DOUBLE', 'upper end'),
		],
	},
];
