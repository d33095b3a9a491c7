import * as v from 'valibot';
import { choice, count, described, flag, real, text } from './recipeFields.ts';

/**
 * Options of each built-in reward in a recipe: `{ "use": "length-target", "weight": 0.1, "target": 200 }`. Options are
 * on the same level as `use`, `name` and `weight`. Schema, completions, defaults and docs/rewards.md are generated from
 * this file. The rewards themselves are implemented in src/core/reward.
 */

export const rewardWeight = real('Weight in the sum (default: 1).', -1e6, 1e6);

/** Reward name, used as a column name in metrics and rollouts. */
export const rewardName = described(
	v.pipe(
		v.string('must be a string'),
		v.regex(/^[A-Za-z0-9_][A-Za-z0-9_ .-]{0,63}$/, 'must be up to 64 letters, digits, spaces, dots, _ or -'),
	),
	'Column name in metrics and rollouts; must be unique (default: the value of "use").',
);

/** Creates the schema for a reward entry: the common fields and its own options. */
const reward = <const U extends string, O extends v.ObjectEntries>(use: U, sentence: string, options: O) =>
	v.strictObject({
		use: described(v.literal(use), sentence),
		name: v.optional(rewardName),
		weight: v.optional(rewardWeight),
		...options,
	});

const goldColumn = v.optional(text("Column that contains the gold value (default: the dataset's answer)."));

export const lengthUnits = ['tokens', 'characters', 'words'] as const;
export type LengthUnit = (typeof lengthUnits)[number];
export const lengthSections = ['completion', 'thinking'] as const;
export type LengthSection = (typeof lengthSections)[number];
const measured = {
	unit: v.optional(
		choice(
			lengthUnits,
			"Unit of length. If a row has no token count, tokens are counted with the embedded engine's tokenizer.",
		),
		'tokens',
	),
	of: v.optional(choice(lengthSections, 'Part of the completion to measure.'), 'completion'),
};

export const languageNames = [
	'en',
	'de',
	'fr',
	'es',
	'it',
	'pt',
	'nl',
	'ru',
	'el',
	'ar',
	'he',
	'hi',
	'th',
	'ko',
	'ja',
	'zh',
] as const;
export type LanguageName = (typeof languageNames)[number];

export const behaviorNames = [
	'verification',
	'backtracking',
	'subgoal-setting',
	'backward-chaining',
	'reflection',
] as const;

export const stepSplits = ['lines', 'paragraphs', 'numbered', 'sentences'] as const;
export type StepSplit = (typeof stepSplits)[number];
export const stepAggregates = ['mean', 'min', 'last', 'product'] as const;
export type StepAggregate = (typeof stepAggregates)[number];

const selfJudgeOptions = {
	prompt: v.optional(
		described(
			v.pipe(v.string('must be a string'), v.regex(/\{response\}/, 'must contain {response}')),
			'Problem that asks for a verdict, with the placeholders {problem} and {response} (the answer).',
		),
		'{problem}{response}?',
	),
	accept: v.optional(text('Reply that accepts the answer.'), '1'),
	votes: v.optional(count('Verdicts to sample for each completion.', 1, 256), 4),
};

const address = (words: string) =>
	described(
		v.pipe(
			v.string('must be a string'),
			v.regex(
				/^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/,
				'must be an http:// or https:// address without a user name or query',
			),
		),
		words,
	);

/** One end of a scale. */
const end = v.number('must be [low, high]');

/** Request settings shared by the judge and process models. */
const requests = {
	concurrency: v.optional(count('Maximum number of concurrent requests.', 1, 256), 8),
	timeoutSeconds: v.optional(real('Timeout per request.', 0.1, 3600), 60),
	retries: v.optional(
		count('Number of retries after a timeout, a lost connection, 429 or 5xx, with increasing delays.', 0, 20),
		4,
	),
};

export const accuracyOptions = reward('accuracy', 'The answer is correct.', {});

export const formatOptions = reward(
	'format',
	'Each template tag occurs exactly once, in order, with no text outside the tags.',
	{},
);

export const exactMatchOptions = reward('exact-match', 'The answer is identical to the gold text.', {
	column: goldColumn,
	ignoreCase: v.optional(flag('Ignore case.'), false),
});

export const multipleChoiceOptions = reward('multiple-choice', 'The answer is the correct option.', {
	column: goldColumn,
	options: v.optional(
		text('Column with the option texts: either a list, or an object that maps letters to texts.'),
		'options',
	),
	indexFrom: v.optional(
		count(
			'Index of the first option, for gold values that are option numbers. If omitted, gold values cannot be numbers.',
			0,
			1,
		),
	),
});

export const boxUnits = ['pixels', 'thousandths', 'fractions'] as const;
export const iouMeasures = ['iou', 'confidence'] as const;
export const iouOptions = reward('iou', 'Overlap of the boxes in the answer with the gold boxes.', {
	column: v.optional(text("Column that contains the gold boxes (default: the dataset's answer).")),
	threshold: v.optional(real('IoU above which a box matches a gold box.', 0, 0.999), 0.5),
	measure: v.optional(
		choice(
			iouMeasures,
			'Mean IoU of the matched boxes ("iou"), or whether matched boxes have high confidence and unmatched ones low confidence ("confidence").',
		),
		'iou',
	),
	unit: v.optional(
		choice(
			boxUnits,
			'Coordinate unit, used to draw boxes: image pixels, or thousandths or fractions of the image size. Does not affect rewards.',
		),
		'pixels',
	),
});

export const classificationOptions = reward(
	'classification',
	'The answer names the gold class, ignoring case, separators and punctuation.',
	{ column: goldColumn },
);

export const tagCountOptions = reward('tag-count', 'An equal share for each tag that occurs exactly once.', {});

export const languageConsistencyOptions = reward(
	'language-consistency',
	'Fraction of words in the thinking section that are in the target language.',
	{
		language: v.optional(choice(languageNames, 'ISO 639-1 code of the target language.'), 'en'),
	},
);

export const softOverlongOptions = reward(
	'soft-overlong',
	'A penalty that increases as the length approaches the maximum.',
	{
		maxLength: count('Length at which the penalty is largest (L_max).'),
		cacheLength: count('Length of the interval over which the penalty increases (L_cache); at most maxLength.'),
		...measured,
	},
);

export const lengthTargetModes = ['near', 'exact', 'max'] as const;
export const lengthTargetOptions = reward(
	'length-target',
	'How close the length is to a target, or whether it is below the target.',
	{
		target: v.optional(count('Target length for rows without a value in the column.', 0)),
		column: v.optional(text('Column that contains the target length.')),
		mode: v.optional(
			choice(
				lengthTargetModes,
				'near: 1 at the target, decreasing to 0 at distance "range". exact and max: the length terms of L1 (LCPO-Exact, LCPO-Max); max is 0 for incorrect answers.',
			),
			'near',
		),
		range: v.optional(count('near: distance at which the value reaches 0 (default: the target).')),
		alpha: v.optional(real('exact, max: slope per unit of length.', 0, 1000), 0.0003),
		delta: v.optional(real('max: value at the target.', 0, 1), 0.5),
		...measured,
	},
);

export const cosineLengthOptions = reward(
	'cosine-length',
	'Rewards short correct answers and long incorrect answers.',
	{
		maxLength: count('Length at which the cosine schedule ends.'),
		correctShort: v.optional(real('Value of a correct answer of length 0.', -1000, 1000), 1),
		correctLong: v.optional(real('Value of a correct answer of length maxLength.', -1000, 1000), 0.5),
		wrongShort: v.optional(real('Value of an incorrect answer of length 0.', -1000, 1000), -1),
		wrongLong: v.optional(real('Value of an incorrect answer of length maxLength.', -1000, 1000), -0.5),
		exceeded: v.optional(
			real(
				'Value of any answer of length maxLength or more (r_e in the paper; default: same as at maxLength).',
				-1000,
				1000,
			),
		),
		...measured,
	},
);

export const repetitionOptions = reward('repetition', 'A penalty proportional to the fraction of repeated n-grams.', {
	ngram: v.optional(count('Number of words or characters per n-gram.', 1, 100), 3),
	maxPenalty: v.optional(
		described(
			v.pipe(
				v.number('must be a number'),
				v.minValue(-1000, 'must be at least -1000'),
				v.maxValue(0, 'must be at most 0'),
			),
			'Value when all n-grams are identical.',
		),
		-1,
	),
	unit: v.optional(choice(['words', 'characters'], 'Unit of the n-grams.'), 'words'),
	of: v.optional(choice(lengthSections, 'Part of the completion in which n-grams are counted.'), 'completion'),
});

export const codeTestsOptions = reward('code-tests', "The answer's code passes the tests in the sandbox.", {
	mode: v.optional(
		choice(['all', 'fraction'], 'all: 1 if every test passes, otherwise 0; fraction: the fraction of tests that pass.'),
		'all',
	),
	language: v.optional(choice(['python', 'javascript'], 'Language of the code.'), 'python'),
	tests: v.optional(
		text(
			'Column with the tests (default: the first of tests, test_list, test, input_output, test_cases, public_test_cases, verification_info).',
		),
	),
	timeoutSeconds: v.optional(real('Wall-clock limit per test.', 0.1, 600), 5),
	memoryMb: v.optional(count('Memory limit for the program, in MB.', 16, 65_536), 256),
});

export const jsonSchemaOptions = reward('json-schema', 'The answer is JSON that matches a schema.', {
	schema: v.optional(
		described(
			v.record(v.string(), v.unknown(), 'must be a JSON Schema object'),
			'Schema for every row (draft 2020-12, 2019-09 or 07).',
		),
	),
	column: v.optional(
		text('Column with a schema for each row, either as an object or as JSON text. Takes precedence over "schema".'),
	),
	partial: v.optional(real('Value for valid JSON that does not match the schema.', 0, 1), 0),
	fence: v.optional(flag('Allow a Markdown code fence around the JSON.'), false),
});

export const reflectionOptions = reward('reflection', 'Signs of careful reasoning, detected by phrasing.', {
	behaviours: v.optional(
		described(
			v.pipe(
				v.array(v.picklist(behaviorNames), `must be a list of ${behaviorNames.map((name) => `"${name}"`).join(', ')}`),
				v.minLength(1, 'must contain at least one behavior'),
			),
			'Behaviors to count (default: all).',
		),
	),
	mode: v.optional(
		choice(
			['count', 'density'],
			'count: total number of markers; density: markers per thousand characters of thinking.',
		),
		'count',
	),
	cap: v.optional(
		real('Number of markers (or markers per thousand characters) at which the value reaches 1.', 0.001, 1000),
		4,
	),
	perPhrase: v.optional(count('Maximum number of times the same phrase counts.', 1, 1000), 2),
});

export const judgeOptions = reward(
	'judge',
	'A language model compares the answer with the gold answer, or grades it.',
	{
		url: address('Base URL of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1.'),
		model: text('Model name on the server.'),
		verdict: v.optional(
			choice(['yes-no', 'score'], 'Type of verdict: yes (1) or no (0), or a score on a scale, mapped to [0, 1].'),
			'yes-no',
		),
		scale: v.optional(
			described(v.tuple([end, end], 'must be [low, high]'), 'score: lowest and highest possible score.'),
			[0, 10],
		),
		judged: v.optional(
			choice(['answer', 'completion'], 'Text that the judge sees: only the answer, or the whole completion.'),
			'answer',
		),
		gold: v.optional(
			choice(
				['required', 'optional', 'never'],
				'Whether to show the gold answer to the judge. With required, the reward does not apply to rows without a gold answer (null).',
			),
			'required',
		),
		column: goldColumn,
		prompt: v.optional(
			text('Judge prompt, with {problem}, {gold} and {response} (default: built-in; see docs/rewards.md).'),
		),
		temperature: v.optional(real('Sampling temperature for the judge.', 0, 2), 0),
		maxTokens: v.optional(count('Maximum reply length in tokens.', 1, 131_072), 1024),
		body: v.optional(
			described(
				v.record(v.string(), v.unknown(), 'must be an object'),
				'Extra request fields, such as {"reasoning_effort": "low"}.',
			),
		),
		...requests,
		cache: v.optional(
			text('JSONL file, relative to the recipe, that stores verdicts across runs (default: in memory only).'),
		),
		inputPrice: v.optional(real('Price per million prompt tokens, used to log the total cost.', 0), 0),
		outputPrice: v.optional(real('Price per million reply tokens.', 0), 0),
	},
);

export const processOptions = reward('process', 'A process reward model scores each step of the thinking section.', {
	model: v.optional(text('ONNX file, or folder with model.onnx and tokenizer.json, relative to the recipe.')),
	tokenizer: v.optional(text('tokenizer.json for the ONNX model (default: the one in the same folder).')),
	url: v.optional(address('URL of a server that scores steps, as an alternative to "model".')),
	api: v.optional(
		choice(
			['steps', 'pooling'],
			"url: request format, either {question, steps} or vLLM's /pooling; see docs/rewards.md.",
		),
		'steps',
	),
	modelName: v.optional(text('pooling: model name on the server.')),
	steps: v.optional(
		choice(
			stepSplits,
			'How to split the thinking section into steps: by lines, blank lines, "Step n" or numbered lines, or sentences.',
		),
		'paragraphs',
	),
	aggregate: v.optional(choice(stepAggregates, 'How to aggregate step scores.'), 'min'),
	separator: v.optional(
		text("Text appended to each step. The score at its last token is the step's score (model, pooling)."),
		'\n\n',
	),
	activation: v.optional(
		choice(
			['none', 'sigmoid', 'softmax'],
			"How to convert the model's output at a token to a score. With softmax, the last class is the positive one.",
		),
		'none',
	),
	maxSteps: v.optional(
		count('Maximum number of steps. Further steps are scored as part of the last one.', 1, 10_000),
		256,
	),
	maxTokens: v.optional(
		count('model: maximum input length in tokens. Longer rows result in an error.', 8, 131_072),
		4096,
	),
	...requests,
});

export const rewardModelOptions = reward('reward-model', 'A trained reward model scores the whole completion.', {
	path: text('Checkpoint folder from a run with a "reward-model" stage, relative to the recipe.'),
	activation: v.optional(
		choice(['none', 'sigmoid'], 'Transformation of the unbounded score; sigmoid maps it to (0, 1).'),
		'none',
	),
});

const schemas = [
	accuracyOptions,
	formatOptions,
	exactMatchOptions,
	multipleChoiceOptions,
	iouOptions,
	classificationOptions,
	tagCountOptions,
	languageConsistencyOptions,
	softOverlongOptions,
	lengthTargetOptions,
	cosineLengthOptions,
	repetitionOptions,
	codeTestsOptions,
	jsonSchemaOptions,
	reflectionOptions,
	judgeOptions,
	processOptions,
	rewardModelOptions,
	reward(
		'majority',
		'The answer is the most frequent one among the completions for the same prompt. Uses no labels.',
		{},
	),
	reward(
		'certainty',
		"Negative mean entropy of the completion's tokens. Uses no labels, and requires the embedded engine.",
		{},
	),
	reward(
		'self-certainty',
		'Mean KL divergence from the uniform distribution to the distribution of each completion token. Uses no labels, and requires the embedded engine.',
		{},
	),
	reward(
		'self-judge',
		"Fraction of the policy's own verdicts that accept the answer. Uses no labels, and requires the embedded engine.",
		selfJudgeOptions,
	),
	reward(
		'learnability',
		'How much can be learned from a problem that the policy has posed. Requires "proposals" in a stage of the embedded engine.',
		{},
	),
	reward('environment', "The reward that the recipe's environment returns for the episode.", {}),
] as const;

export const builtInRewardSchema = v.variant('use', schemas, 'must be the name of a built-in reward');

/** A reward entry in a recipe, with default options filled in. */
export type BuiltInRewardSpec = v.InferOutput<typeof builtInRewardSchema>;
export type BuiltInRewardName = BuiltInRewardSpec['use'];
export const builtInRewardNames: readonly BuiltInRewardName[] = schemas.map(
	(schema) => schema.entries.use.pipe[0].literal,
);

/** A reward entry in a run's recipe.json, with name and weight, and with absolute paths. */
export type ResolvedBuiltIn = BuiltInRewardSpec & { readonly name: string; readonly weight: number };
/** Resolved entry for a specific reward: `RewardEntry<'judge'>`. */
export type RewardEntry<Use extends BuiltInRewardName> = Extract<ResolvedBuiltIn, { readonly use: Use }>;

export const resolvedBuiltInSchema = v.pipe(
	builtInRewardSchema,
	v.check(({ name, weight }) => name !== undefined && weight !== undefined, 'must have a name and a weight'),
	v.transform((entry) => entry as ResolvedBuiltIn),
);

/** Returns the entry with absolute paths. Relative paths are resolved against the recipe's folder. */
export function withAbsolutePaths(entry: ResolvedBuiltIn, absolute: (path: string) => string): ResolvedBuiltIn {
	const on = (path: string | undefined) => (path === undefined ? undefined : absolute(path));
	const set = <T extends object>(paths: T) =>
		Object.fromEntries(Object.entries(paths).filter(([, path]) => path !== undefined));
	switch (entry.use) {
		case 'judge':
			return { ...entry, ...set({ cache: on(entry.cache) }) };
		case 'process':
			return { ...entry, ...set({ model: on(entry.model), tokenizer: on(entry.tokenizer) }) };
		case 'reward-model':
			return { ...entry, path: absolute(entry.path) };
		default:
			return entry;
	}
}
