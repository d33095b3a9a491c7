import { Failure } from '../../base/failure.ts';
import type { TemplateSpec } from '../../protocol/recipeKeys/recipe.ts';

export type TagPair = readonly [open: string, close: string];

/** Prompt format and the tags that a completion must contain. */
export interface Template {
	readonly name: string;
	/** Prompt text with the placeholder `{prompt}` for the problem. */
	readonly prompt: string;
	readonly think: TagPair | null;
	readonly answer: TagPair | null;
	/** Tags for the policy's tool calls and the environment's answers. Only in recipes with an environment. */
	readonly call?: TagPair | undefined;
	readonly result?: TagPair | undefined;
	/** Tokens for latent thoughts (latentTags.ts). Only in recipes with such thoughts. */
	readonly latent?: readonly string[] | undefined;
	/** Whether the prompt is sent as a user message, formatted with the model's chat template (PyTorch engine). */
	readonly chat?: boolean | undefined;
	/** System message that precedes the prompt. */
	readonly system?: string | undefined;
}

const think: TagPair = ['<think>', '</think>'];
const answer: TagPair = ['<answer>', '</answer>'];

/**
 * Conversation from DeepSeek-R1-Zero (Guo et al. 2025, table 1), which prescribes the structure but not how to think.
 */
const conversation =
	'A conversation between User and Assistant. The user asks a question, and the Assistant solves it. ' +
	'The assistant first thinks about the reasoning process in the mind and then provides the user with the answer. ' +
	'The reasoning process and answer are enclosed within <think> </think> and <answer> </answer> tags, respectively, ' +
	'i.e., <think> reasoning process here </think> <answer> answer here </answer>. User: {prompt}. Assistant: ';

const templates: Readonly<Record<string, Template>> = {
	/** Tags only, so that small models spend no tokens on a conversation. */
	r1: { name: 'r1', prompt: '{prompt}', think, answer },
	'r1-conversation': { name: 'r1-conversation', prompt: conversation, think, answer },
	plain: { name: 'plain', prompt: '{prompt}', think: null, answer: null },
};

/** Resolves a recipe's named or custom template; throws `invalid` if a custom template is ambiguous. */
export function resolveTemplate(spec: TemplateSpec): Template {
	if (typeof spec === 'string') return templates[spec] as Template;
	const template: Template = {
		name: 'custom',
		prompt: spec.prompt,
		think: spec.think,
		answer: spec.answer,
		...(spec.chat === true ? { chat: true } : {}),
		...(spec.system === undefined ? {} : { system: spec.system }),
		...(spec.call === undefined ? {} : { call: spec.call }),
		...(spec.result === undefined ? {} : { result: spec.result }),
	};
	checkTemplate(template);
	return template;
}

/** Returns the template with tags for tool calls and their answers: its own, or the default ones. */
export function withCallTags(template: Template): Template & { readonly call: TagPair; readonly result: TagPair } {
	const tagged = {
		...template,
		call: template.call ?? defaultCallTags.call,
		result: template.result ?? defaultCallTags.result,
	};
	checkTemplate(tagged);
	return tagged;
}

export const defaultCallTags = { call: ['<call>', '</call>'], result: ['<result>', '</result>'] } as const;

/** Throws `invalid` if a template is ambiguous. */
function checkTemplate(template: Template): void {
	const tags = templateTags(template);
	if (!template.prompt.includes('{prompt}')) {
		throw new Failure(
			'invalid',
			'The template "prompt" does not contain {prompt}.',
			'Insert {prompt} where the problem goes.',
		);
	}
	if (tags.some((tag) => tag === '') || new Set(tags).size < tags.length) {
		throw new Failure('invalid', 'The template has an empty or duplicate tag.', 'Use a different string for each tag.');
	}
}

/** All template tags, in the required order. */
export function templateTags(template: Pick<Template, 'think' | 'answer' | 'call' | 'result'>): string[] {
	const { think, answer, call, result } = template;
	return [...(think ?? []), ...(answer ?? []), ...(call ?? []), ...(result ?? [])];
}

export function renderPrompt(template: Template, problem: string): string {
	return template.prompt.split('{prompt}').join(problem);
}

/**
 * Renders the training completion for a worked problem, without the end-of-sequence token:
 * `<think>solution</think><answer>answer</answer>`. Without answer tags, the answer follows the thinking section;
 * without think tags, the solution is omitted.
 */
export function renderCompletion(
	template: Template,
	worked: { readonly solution: string; readonly answer: string },
): string {
	const thought = template.think === null ? '' : `${template.think[0]}${worked.solution}${template.think[1]}`;
	return template.answer === null
		? `${thought}${worked.answer}`
		: `${thought}${template.answer[0]}${worked.answer}${template.answer[1]}`;
}
