import type { BuiltInRewardName } from '../../protocol/builtInRewards.ts';

/** Reference information about a built-in reward. */
export interface BuiltInInfo {
	readonly name: BuiltInRewardName;
	readonly title: string;
	/** One-sentence description. */
	readonly sentence: string;
	/** Formula as text; n is the length, and tags are the template tags. */
	readonly formula: string;
	/** Source of the formula: a paper and equation, or code. */
	readonly source: string;
	readonly range: string;
	/** When the reward is null for a row. */
	readonly nullRule: string;
	/** Path of the implementation, relative to src; the build copies it to dist/rewards/FILE. */
	readonly file: string;
}

/** All built-in rewards, in documentation order. */
export const builtInInfos: readonly BuiltInInfo[] = [
	{
		name: 'accuracy',
		title: 'Accuracy',
		sentence:
			'Whether the single answer of the completion is correct: by the rule of the task, otherwise by mathematical equivalence.',
		formula: '1 if the answer equals the gold answer, else 0',
		source: 'DeepSeek-R1 (Guo et al. 2025), section 2.2.2',
		range: '0 or 1',
		nullRule: 'no gold answer, or one that cannot be parsed',
		file: 'core/reward/accuracyReward.ts',
	},
	{
		name: 'format',
		title: 'Format (strict)',
		sentence: 'Whether the completion matches the format of the template exactly.',
		formula:
			'1 if every tag occurs once, in order, with nothing outside, a non-empty answer and a finished completion (EOS), else 0',
		source: 'DeepSeek-R1 (Guo et al. 2025), section 2.2.2',
		range: '0 or 1',
		nullRule: 'never',
		file: 'core/reward/formatReward.ts',
	},
	{
		name: 'exact-match',
		title: 'Exact match',
		sentence:
			'Whether the answer equals the gold text (or one of several) after normalizing whitespace and number formats.',
		formula: '1 if normalize(answer) = normalize(gold), else 0',
		source: 'SQuAD (Rajpurkar et al. 2016), exact match, without its removal of articles and punctuation',
		range: '0 or 1',
		nullRule: 'no gold value',
		file: 'core/reward/exactMatchReward.ts',
	},
	{
		name: 'multiple-choice',
		title: 'Multiple choice',
		sentence:
			'Whether the answer names the correct option, by its letter in any common spelling or by the text of the option.',
		formula: '1 if the answer names one option and it is the gold one, else 0',
		source: 'MMLU (Hendrycks et al. 2021)',
		range: '0 or 1',
		nullRule: 'no gold value, or one that names no option',
		file: 'core/reward/multipleChoiceReward.ts',
	},
	{
		name: 'tag-count',
		title: 'Tag count',
		sentence: 'Partial credit for the tags of the template, as a gradient toward the strict format.',
		formula: 'tags that occur exactly once / tags',
		source: 'open-r1, tag_count_reward (0.25 for each of 4 tags), for any template and without its line breaks',
		range: '0 to 1',
		nullRule: 'the template has no tags',
		file: 'core/reward/tagCountReward.ts',
	},
	{
		name: 'language-consistency',
		title: 'Language consistency',
		sentence: 'Share of words in the thinking that are in the target language; code and formulas are excluded.',
		formula: 'words in the target language / words',
		source: 'DeepSeek-R1 (Guo et al. 2025), section 2.3.2',
		range: '0 to 1',
		nullRule: 'the thinking has no words',
		file: 'core/reward/languageConsistencyReward.ts',
	},
	{
		name: 'soft-overlong',
		title: 'Soft overlong penalty',
		sentence: 'No penalty up to a length, then a linear penalty down to -1 at the maximum length.',
		formula: '0 if n <= L_max - L_cache; ((L_max - L_cache) - n) / L_cache if n <= L_max; -1 beyond',
		source: 'DAPO (Yu et al. 2025), equation 13',
		range: '-1 to 0',
		nullRule: 'never',
		file: 'core/reward/softOverlongReward.ts',
	},
	{
		name: 'length-target',
		title: 'Length target',
		sentence: 'How close the length is to a target or, for correct answers, how far below it.',
		formula:
			'near: max(0, 1 - |n - target| / range); exact: -alpha |target - n|; max: correct x clip(alpha (target - n) + delta, 0, 1)',
		source: 'near: a tent; exact and max: L1 (Aggarwal and Welleck 2025), LCPO-Exact (beside accuracy) and LCPO-Max',
		range: 'near, max: 0 to 1; exact: up to 0',
		nullRule: 'the row has no target; max: accuracy does not apply',
		file: 'core/reward/lengthTargetReward.ts',
	},
	{
		name: 'cosine-length',
		title: 'Cosine length',
		sentence: 'Correct answers earn more the shorter they are; wrong answers lose less the longer they are.',
		formula:
			'long + (short - long) (1 + cos(pi n / L)) / 2 with the values for correct or wrong answers; n is at most L',
		source: 'Yeo et al. 2025 (Demystifying long chain-of-thought), section 4; open-r1, get_cosine_scaled_reward',
		range: 'wrongShort to correctShort (-1 to 1)',
		nullRule: 'accuracy does not apply',
		file: 'core/reward/cosineLengthReward.ts',
	},
	{
		name: 'repetition',
		title: 'Repetition',
		sentence: 'Penalty for repeated word n-grams.',
		formula: 'maxPenalty x (1 - distinct n-grams / n-grams); 0 for fewer than n words',
		source: 'Yeo et al. 2025, appendix; open-r1, get_repetition_penalty_reward',
		range: 'maxPenalty to 0',
		nullRule: 'never',
		file: 'core/reward/repetitionReward.ts',
	},
	{
		name: 'code-tests',
		title: 'Code tests',
		sentence: 'Runs the code of the answer against the tests of the row in the sandbox.',
		formula: 'all: 1 if every test passes, else 0; fraction: passed tests / tests',
		source: 'APPS (Hendrycks et al. 2021), strict accuracy and test case average',
		range: '0 to 1',
		nullRule: 'the row has no tests',
		file: 'rewards/codeTests.ts',
	},
	{
		name: 'json-schema',
		title: 'JSON Schema',
		sentence: 'Whether the answer is JSON that conforms to a schema.',
		formula: '1 if valid; partial if it is JSON that does not conform; else 0',
		source: 'JSON Schema 2020-12',
		range: '0 to 1',
		nullRule: 'the row has no schema',
		file: 'core/reward/jsonSchemaReward.ts',
	},
	{
		name: 'reflection',
		title: 'Reflection behaviors',
		sentence: 'Counts words of verification, backtracking, subgoals, backward chaining and reflection in the thinking.',
		formula: 'min(cap, marks) / cap; density: marks per thousand characters; a phrase counts at most perPhrase times',
		source: 'Gandhi et al. 2025 (Cognitive behaviors that enable self-improving reasoners)',
		range: '0 to 1',
		nullRule: 'never',
		file: 'core/reward/reflectionReward.ts',
	},
	{
		name: 'judge',
		title: 'LLM judge',
		sentence: 'A language model on an OpenAI-compatible server compares the answer with the gold answer, or grades it.',
		formula: 'yes-no: 1 or 0; score: (score - low) / (high - low)',
		source: 'LLM as a judge (Zheng et al. 2023); generative verifiers (Zhang et al. 2024)',
		range: '0 to 1',
		nullRule: 'gold is required and the row has none',
		file: 'core/reward/judgePrompt.ts',
	},
	{
		name: 'process',
		title: 'Process reward',
		sentence: 'A process reward model scores each step of the thinking; the scores are aggregated into one value.',
		formula: 'mean, min, last or product of the step scores',
		source: "Let's verify step by step (Lightman et al. 2023): product, min; Math-Shepherd (Wang et al. 2024): min",
		range: 'that of the model, usually 0 to 1',
		nullRule: 'the thinking has no steps',
		file: 'core/reward/processReward.ts',
	},
	{
		name: 'reward-model',
		title: 'Reward model',
		sentence: 'A reward model trained on preference pairs scores the whole completion.',
		formula: 'r(prompt, completion), the scalar at the last token; sigmoid: 1 / (1 + exp(-r))',
		source: 'Ouyang et al. 2022 (InstructGPT), section 3.5; Stiennon et al. 2020',
		range: 'any number; sigmoid: 0 to 1',
		nullRule: 'never',
		file: 'rewards/builtIn/rewardModel.ts',
	},
];
