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

const run = c('run', 'VARCHAR', 'run folder name, including parent folders if two runs have the same name');
const split = c('split', 'VARCHAR', '`train` or `validation`');
const step = c('step', 'BIGINT', 'optimizer update; null if the trainer does not record it');
const groupId = c('group_id', 'BIGINT', "the rollout's group, unique within run, split and step");
const turn = c('turn', 'BIGINT', '1-based number of the turn');
const index = c('index', 'BIGINT', 'index of the rollout within its group');
/** Columns that identify a rollout. */
const rollout = [run, split, step, groupId, index];

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
			c('format', 'VARCHAR', '`reasoning-lab`, or the format name (docs/formats.md)'),
			c('name', 'VARCHAR', 'run name, usually from the recipe'),
			c('status', 'VARCHAR', 'status at the time of indexing: `running`, `finished`, `stopped`, ...'),
			c('created', 'TIMESTAMP', 'start time in UTC; null if not recorded'),
			c('steps', 'BIGINT', 'number of steps with rollouts; null if the trainer does not record steps'),
			c('last_step', 'BIGINT', 'last step with rollouts'),
			c('rollouts', 'BIGINT', 'number of rollouts in the index'),
			c('skipped', 'BIGINT', 'number of unreadable records'),
		],
	},
	{
		name: 'rollouts',
		rows: 'a rollout: one completion of one prompt',
		columns: [
			run,
			split,
			c('stage', 'VARCHAR', "the run's stage; usually `train` or `validation` for other trainers"),
			step,
			groupId,
			index,
			c('prompt_hash', 'VARCHAR', 'prompt hash, the same in every step and run (16 hexadecimal digits)'),
			c('reward', 'DOUBLE', 'total reward; null if it failed or was not recorded'),
			c('rewards', 'MAP(VARCHAR, DOUBLE)', "components by name: `rewards['accuracy']`"),
			c('advantage', 'DOUBLE', 'null if not recorded'),
			c(
				'correct',
				'BOOLEAN',
				'whether the component that checks the answer returned its maximum value; null if there is no such component',
			),
			c('truncated', 'BOOLEAN', 'truncated at the length limit; null if not recorded'),
			c('tokens', 'INTEGER', 'number of completion tokens; null if not recorded'),
			c(
				'characters',
				'INTEGER',
				'length of the displayed completion in UTF-16 code units, including message roles; null (as for all text statistics) if the text was not recorded',
			),
			c('turns', 'INTEGER', 'number of assistant messages; 1 for plain text; null as for `characters`'),
			c('verification', 'INTEGER', 'number of phrases that check a result'),
			c('backtracking', 'INTEGER', 'number of phrases that abandon one approach for another'),
			c('subgoal_setting', 'INTEGER', 'number of phrases that break the problem into steps'),
			c('backward_chaining', 'INTEGER', 'number of phrases that work backward from the goal'),
			c('reflection', 'INTEGER', 'number of phrases that mark a pause to reconsider'),
			c(
				'repetition',
				'DOUBLE',
				'fraction of word 4-grams that are repeated, 0 to 1; null if there are fewer than four words',
			),
			c(
				'weights',
				'BIGINT',
				"version of the oldest weights that generated the completion, as an update count or in the trainer's own numbering; null if not recorded",
			),
			c(
				'staleness',
				'BIGINT',
				'number of updates between `weights` and the weights trained on the completion; null if either is not recorded',
			),
			c('has_tokens', 'BOOLEAN', 'whether token text and log-probabilities are recorded'),
			c('file', 'VARCHAR', 'file that contains the text, relative to the run'),
			c('byte_offset', 'BIGINT', 'offset of the record in a line-based file; otherwise 0'),
			c('byte_length', 'BIGINT', 'length of the record; 0 in files that are not line-based'),
			c('item', 'BIGINT', 'index of the rollout in the record or file'),
		],
	},
	{
		name: 'groups',
		rows: 'a group: the rollouts of one prompt at one step',
		columns: [
			run,
			split,
			step,
			groupId,
			c('prompt_hash', 'VARCHAR', 'prompt hash of the first rollout'),
			c('rollouts', 'BIGINT', 'number of rollouts'),
			c('reward_mean', 'DOUBLE', 'mean over rollouts with a reward'),
			c('reward_std', 'DOUBLE', 'sample standard deviation (n - 1); null if fewer than two rollouts have a reward'),
			c(
				'dead',
				'BOOLEAN',
				'whether all rewards are equal, so all advantages are 0; null if fewer than two rollouts have a reward',
			),
			c('correct', 'BIGINT', 'number of correct rollouts; null if no reward checks the answer'),
			c('truncated', 'BIGINT', 'number of truncated rollouts; null if not recorded'),
			c('characters_mean', 'DOUBLE', 'mean completion length'),
		],
	},
	{
		name: 'reward_components',
		rows: 'one component of the reward for a rollout',
		columns: [
			...rollout,
			c('name', 'VARCHAR', 'component name'),
			c('value', 'DOUBLE', 'unweighted value, as recorded; null if it failed'),
		],
	},
	{
		name: 'turns',
		rows: 'a policy message that called tools or received an answer from the environment',
		columns: [
			...rollout,
			turn,
			c('message', 'INTEGER', '0-based index of the message in the completion; null if the calls are not in a message'),
			c('calls', 'INTEGER', 'number of tool calls; 0 if the message only received an answer'),
			c('failures', 'INTEGER', 'number of failed calls'),
			c('reward', 'DOUBLE', 'reward of the turn; null if not recorded'),
			c('seconds', 'DOUBLE', 'time in the environment; null if not recorded'),
			c(
				'state',
				'VARCHAR',
				"short form of the environment's state after the turn, as JSON: `try_cast(state as json) ->> '$.tries'`; null if not recorded",
			),
		],
	},
	{
		name: 'calls',
		rows: 'a tool call',
		columns: [
			...rollout,
			turn,
			c('call', 'BIGINT', '1-based number of the call in its turn'),
			c('name', 'VARCHAR', 'tool name, as the policy wrote it'),
			c(
				'arguments',
				'VARCHAR',
				"the first 500 characters of the arguments, usually JSON: `try_cast(arguments as json) ->> '$.number'`",
			),
			c(
				'failed',
				'BOOLEAN',
				'whether the call failed, as recorded or, if not recorded, judging by whether the result starts like an error; null if there is no result',
			),
			c('characters', 'INTEGER', 'length of the result; null if there is none'),
		],
	},
	{
		name: 'metrics',
		rows: 'a metric value at one step',
		columns: [
			run,
			step,
			c('stage', 'VARCHAR', 'null if not recorded'),
			c('name', 'VARCHAR', 'canonical name if there is one (docs/metrics.md), otherwise the trainer’s name'),
			c('value', 'DOUBLE', 'non-finite values are null'),
		],
	},
	{
		name: 'evaluations',
		rows: 'one evaluation on held-out problems',
		columns: [
			run,
			step,
			c('name', 'VARCHAR', '`heldout`, or the run’s own name for the evaluation'),
			c('problems', 'INTEGER', 'number of problems'),
			c('samples', 'INTEGER', 'samples per problem'),
			c('accuracy', 'DOUBLE', 'mean over problems, 0 to 1'),
			c('low', 'DOUBLE', 'lower bound of the 95% interval'),
			c('high', 'DOUBLE', 'upper bound of the 95% interval'),
		],
	},
];
