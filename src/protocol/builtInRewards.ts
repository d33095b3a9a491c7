import * as v from 'valibot';
import { choice, count, described, flag, real, text } from './recipeFields.ts';

/**
 * What each built-in reward takes in a recipe: `{ "use": "length-target", "weight": 0.1, "target": 200 }`. Options lie flat
 * beside `use`, `name` and `weight`. Schema, completion, defaults and docs/rewards.md come from here; what the rewards
 * compute is in src/core/reward.
 */

export const rewardWeight = real('Weight in the sum (default 1).', -1e6, 1e6);

/** Names head the columns of metrics and rollouts. */
export const rewardName = described(
	v.pipe(
		v.string('must be a text'),
		v.regex(/^[A-Za-z0-9_][A-Za-z0-9_ .-]{0,63}$/, 'must be up to 64 letters, digits, blanks, dots, _ or -'),
	),
	'Name of its column in metrics and rollouts; each name occurs once (default: the value of "use").',
);

/** The entries of one reward: the common ones and its own options. */
const reward = <const U extends string, O extends v.ObjectEntries>(use: U, sentence: string, options: O) =>
	v.strictObject({
		use: described(v.literal(use), sentence),
		name: v.optional(rewardName),
		weight: v.optional(rewardWeight),
		...options,
	});

const goldColumn = v.optional(text("Column of the row that holds the gold value (default: the dataset's answer)."));

export const lengthUnits = ['tokens', 'characters', 'words'] as const;
export type LengthUnit = (typeof lengthUnits)[number];
export const lengthSections = ['completion', 'thinking'] as const;
export type LengthSection = (typeof lengthSections)[number];
const measured = {
	unit: v.optional(
		choice(
			lengthUnits,
			'In what the length is counted. Tokens are those of the embedded engine where a row brings no count.',
		),
		'tokens',
	),
	of: v.optional(choice(lengthSections, 'Whose length counts.'), 'completion'),
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

export const behaviourNames = [
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

const address = (words: string) =>
	described(
		v.pipe(
			v.string('must be a text'),
			v.regex(
				/^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/,
				'must be an http:// or https:// address without user name and query',
			),
		),
		words,
	);

/** Of a scale. */
const end = v.number('must be [low, high]');

/** How a server is asked; the same for the judge and for process models. */
const requests = {
	concurrency: v.optional(count('Requests in flight at once.', 1, 256), 8),
	timeoutSeconds: v.optional(real('Longest wait for one answer.', 0.1, 3600), 60),
	retries: v.optional(
		count('Further tries after a timeout, a lost connection, 429 or 5xx, each after a longer wait.', 0, 20),
		4,
	),
};

export const accuracyOptions = reward('accuracy', 'The answer is right.', {});

export const formatOptions = reward('format', 'Every tag of the template once, in order, nothing outside.', {});

export const exactMatchOptions = reward('exact-match', 'The answer is the gold text.', {
	column: goldColumn,
	ignoreCase: v.optional(flag('Capital and small letters are the same.'), false),
});

export const multipleChoiceOptions = reward('multiple-choice', 'The answer names the right option.', {
	column: goldColumn,
	options: v.optional(text("Column with the options' texts, a list or an object from letters to texts."), 'options'),
	indexFrom: v.optional(
		count("A gold number is the option's place, counted from this; without it a number is no gold.", 0, 1),
	),
});

export const tagCountOptions = reward('tag-count', 'An equal share for each tag that occurs exactly once.', {});

export const languageConsistencyOptions = reward(
	'language-consistency',
	'Share of target-language words in the thinking.',
	{
		language: v.optional(choice(languageNames, 'The target language, by its ISO 639-1 code.'), 'en'),
	},
);

export const softOverlongOptions = reward(
	'soft-overlong',
	'A growing punishment on the last stretch before the longest length.',
	{
		maxLength: count('Length from which on the punishment is full (L_max).'),
		cacheLength: count('Length of the stretch over which it grows (L_cache); at most maxLength.'),
		...measured,
	},
);

export const lengthTargetModes = ['near', 'exact', 'max'] as const;
export const lengthTargetOptions = reward('length-target', 'How near the length is to a target, or stays below it.', {
	target: v.optional(count('The wanted length; rows whose column has one use theirs.', 0)),
	column: v.optional(text('Column with the wanted length of each row.')),
	mode: v.optional(
		choice(
			lengthTargetModes,
			'near: 1 at the target, 0 from "range" away. exact and max: the length terms of L1 (LCPO-Exact, LCPO-Max); max is 0 for wrong answers.',
		),
		'near',
	),
	range: v.optional(count('near: distance from which on the value is 0 (default: the target).')),
	alpha: v.optional(real('exact, max: slope for each unit of length.', 0, 1000), 0.0003),
	delta: v.optional(real('max: value at the target.', 0, 1), 0.5),
	...measured,
});

export const cosineLengthOptions = reward(
	'cosine-length',
	'Right answers: the shorter the better; wrong ones: the longer the better.',
	{
		maxLength: count('Length at which the cosine ends.'),
		correctShort: v.optional(real('Value of a right answer of length 0.', -1000, 1000), 1),
		correctLong: v.optional(real('Value of a right answer of maxLength.', -1000, 1000), 0.5),
		wrongShort: v.optional(real('Value of a wrong answer of length 0.', -1000, 1000), -1),
		wrongLong: v.optional(real('Value of a wrong answer of maxLength.', -1000, 1000), -0.5),
		exceeded: v.optional(
			real('Value of any answer of maxLength or longer (r_e of the paper; default: as at maxLength).', -1000, 1000),
		),
		...measured,
	},
);

export const repetitionOptions = reward('repetition', 'A punishment by the share of n-grams that occur again.', {
	ngram: v.optional(count('Words or characters of an n-gram.', 1, 100), 3),
	maxPenalty: v.optional(
		described(
			v.pipe(
				v.number('must be a number'),
				v.minValue(-1000, 'must be at least -1000'),
				v.maxValue(0, 'must be at most 0'),
			),
			'Value when all n-grams are the same.',
		),
		-1,
	),
	unit: v.optional(choice(['words', 'characters'], 'Of what n-grams are made.'), 'words'),
	of: v.optional(choice(lengthSections, 'Whose n-grams count.'), 'completion'),
});

export const codeTestsOptions = reward('code-tests', "The answer's code passes the tests, in the sandbox.", {
	mode: v.optional(
		choice(['all', 'fraction'], 'all: 1 when every test passes, else 0; fraction: the share that passes.'),
		'all',
	),
	language: v.optional(choice(['python', 'javascript'], 'Language of the code.'), 'python'),
	tests: v.optional(
		text(
			'Column of the row that holds the tests (default: the first that it has of tests, test_list, test, input_output, test_cases, public_test_cases, verification_info).',
		),
	),
	timeoutSeconds: v.optional(real('Wall clock of one test.', 0.1, 600), 5),
	memoryMb: v.optional(count('Memory of the program in MB.', 16, 65_536), 256),
});

export const jsonSchemaOptions = reward('json-schema', 'The answer is JSON that a schema accepts.', {
	schema: v.optional(
		described(
			v.record(v.string(), v.unknown(), 'must be a JSON Schema, an object'),
			'The schema of every row (draft 2020-12, 2019-09 or 07).',
		),
	),
	column: v.optional(text('Column with the schema of each row, an object or its text; it wins over "schema".')),
	partial: v.optional(real('Value of JSON that the schema refuses.', 0, 1), 0),
	fence: v.optional(flag('One Markdown code fence around the JSON is allowed.'), false),
});

export const reflectionOptions = reward('reflection', 'Behaviors of careful thinking, as its words show them.', {
	behaviours: v.optional(
		described(
			v.pipe(
				v.array(
					v.picklist(behaviourNames),
					`must be a list of ${behaviourNames.map((name) => `"${name}"`).join(', ')}`,
				),
				v.minLength(1, 'needs at least one behavior'),
			),
			'Which behaviors count (default: all).',
		),
	),
	mode: v.optional(
		choice(['count', 'density'], 'count: marks in all; density: marks a thousand characters of thinking.'),
		'count',
	),
	cap: v.optional(real('Marks (or marks a thousand characters) from which on the value is 1.', 0.001, 1000), 4),
	perPhrase: v.optional(count('How often the same phrase counts at most.', 1, 1000), 2),
});

export const judgeOptions = reward(
	'judge',
	'A language model compares the answer with the gold answer, or grades it.',
	{
		url: address('Base address of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1.'),
		model: text('Name of the model on that server.'),
		verdict: v.optional(
			choice(['yes-no', 'score'], 'What is asked for: yes (1) or no (0), or a score on a scale, brought to 0 to 1.'),
			'yes-no',
		),
		scale: v.optional(
			described(v.tuple([end, end], 'must be [low, high]'), 'score: the lowest and the highest score.'),
			[0, 10],
		),
		judged: v.optional(
			choice(['answer', 'completion'], 'What the judge sees: the answer alone or the whole completion.'),
			'answer',
		),
		gold: v.optional(
			choice(
				['required', 'optional', 'never'],
				'Whether the gold answer is shown; required: rows without one are left out (null).',
			),
			'required',
		),
		column: goldColumn,
		prompt: v.optional(
			text('What the judge is told, with {problem}, {gold} and {response} (default: built in; see docs/rewards.md).'),
		),
		temperature: v.optional(real('Sampling temperature of the judge.', 0, 2), 0),
		maxTokens: v.optional(count('Longest reply in tokens.', 1, 131_072), 1024),
		body: v.optional(
			described(
				v.record(v.string(), v.unknown(), 'must be an object'),
				'Further fields of the request, such as {"reasoning_effort": "low"}.',
			),
		),
		...requests,
		cache: v.optional(
			text('A JSONL file, relative to the recipe, that keeps verdicts between runs (default: in memory only).'),
		),
		inputPrice: v.optional(real('Price of a million prompt tokens; the sum is written to the log.', 0), 0),
		outputPrice: v.optional(real('Price of a million reply tokens.', 0), 0),
	},
);

export const processOptions = reward('process', 'A process reward model scores each step of the thinking.', {
	model: v.optional(text('An ONNX file, or a folder with model.onnx and tokenizer.json, relative to the recipe.')),
	tokenizer: v.optional(text('The tokenizer.json of the ONNX model (default: the one beside it).')),
	url: v.optional(address('Address of a server that scores steps; instead of "model".')),
	api: v.optional(
		choice(
			['steps', 'pooling'],
			"url: what the server understands: {question, steps} or vLLM's /pooling; see docs/rewards.md.",
		),
		'steps',
	),
	modelName: v.optional(text('pooling: name of the model on the server.')),
	steps: v.optional(
		choice(stepSplits, 'How the thinking is split: by lines, blank lines, "Step n" or numbered lines, or sentences.'),
		'paragraphs',
	),
	aggregate: v.optional(choice(stepAggregates, "How the steps' scores become one value."), 'min'),
	separator: v.optional(
		text("Text after each step; the score at its last token is the step's (model, pooling)."),
		'\n\n',
	),
	activation: v.optional(
		choice(
			['none', 'sigmoid', 'softmax'],
			"What makes a score of the model's output at a token; softmax: the last class is the good one.",
		),
		'none',
	),
	maxSteps: v.optional(count('Steps beyond this many are scored as part of the last one.', 1, 10_000), 256),
	maxTokens: v.optional(count('model: longest input in tokens; rows beyond it have an error.', 8, 131_072), 4096),
	...requests,
});

export const rewardModelOptions = reward('reward-model', 'A trained reward model scores the whole completion.', {
	path: text('A checkpoint folder of a run with a stage "reward-model", relative to the recipe.'),
	activation: v.optional(
		choice(['none', 'sigmoid'], 'What is made of its score, which has no bounds; sigmoid: 0 to 1.'),
		'none',
	),
});

const schemas = [
	accuracyOptions,
	formatOptions,
	exactMatchOptions,
	multipleChoiceOptions,
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
] as const;

export const builtInRewardSchema = v.variant('use', schemas, 'must name a built-in reward');

/** An entry of a recipe's rewards, with the defaults of its options. */
export type BuiltInRewardSpec = v.InferOutput<typeof builtInRewardSchema>;
export type BuiltInRewardName = BuiltInRewardSpec['use'];
export const builtInRewardNames: readonly BuiltInRewardName[] = schemas.map(
	(schema) => schema.entries.use.pipe[0].literal,
);

/** An entry as recipe.json of a run has it: named, weighed, paths absolute. */
export type ResolvedBuiltIn = BuiltInRewardSpec & { readonly name: string; readonly weight: number };
/** The resolved entry of one reward: `RewardEntry<'judge'>`. */
export type RewardEntry<Use extends BuiltInRewardName> = Extract<ResolvedBuiltIn, { readonly use: Use }>;

export const resolvedBuiltInSchema = v.pipe(
	builtInRewardSchema,
	v.check(({ name, weight }) => name !== undefined && weight !== undefined, 'must have a name and a weight'),
	v.transform((entry) => entry as ResolvedBuiltIn),
);

/** The entry with its paths made absolute: relative ones start at the recipe's folder. */
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
