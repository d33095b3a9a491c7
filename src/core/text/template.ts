import { Failure } from '../../base/failure.ts';
import type { TemplateSpec } from '../../protocol/recipe.ts';

export type TagPair = readonly [open: string, close: string];

/** How a problem is put to the policy, and which tags its completion must carry. */
export interface Template {
	readonly name: string;
	/** Text around the problem; `{prompt}` stands for it. */
	readonly prompt: string;
	readonly think: TagPair | null;
	readonly answer: TagPair | null;
	/** The prompt is a user message, put by the chat template of the model; the pytorch engine's. */
	readonly chat?: boolean | undefined;
	/** The system message before it. */
	readonly system?: string | undefined;
}

const think: TagPair = ['<think>', '</think>'];
const answer: TagPair = ['<answer>', '</answer>'];

/** The conversation of DeepSeek-R1-Zero (Guo et al. 2025, table 1): structure only, no word about how to think. */
const conversation =
	'A conversation between User and Assistant. The user asks a question, and the Assistant solves it. ' +
	'The assistant first thinks about the reasoning process in the mind and then provides the user with the answer. ' +
	'The reasoning process and answer are enclosed within <think> </think> and <answer> </answer> tags, respectively, ' +
	'i.e., <think> reasoning process here </think> <answer> answer here </answer>. User: {prompt}. Assistant: ';

const templates: Readonly<Record<string, Template>> = {
	/** The tags alone: small models spend no tokens on a conversation. */
	r1: { name: 'r1', prompt: '{prompt}', think, answer },
	'r1-conversation': { name: 'r1-conversation', prompt: conversation, think, answer },
	plain: { name: 'plain', prompt: '{prompt}', think: null, answer: null },
};

/** The template that a recipe names or spells out; throws `invalid` when a custom one cannot be told apart. */
export function resolveTemplate(spec: TemplateSpec): Template {
	if (typeof spec === 'string') return templates[spec] as Template;
	const template: Template = {
		name: 'custom',
		prompt: spec.prompt,
		think: spec.think,
		answer: spec.answer,
		...(spec.chat === true ? { chat: true } : {}),
		...(spec.system === undefined ? {} : { system: spec.system }),
	};
	const tags = templateTags(template);
	if (!template.prompt.includes('{prompt}')) {
		throw new Failure(
			'invalid',
			'The "prompt" of the template does not contain {prompt}.',
			'Put {prompt} where the problem goes.',
		);
	}
	if (tags.some((tag) => tag === '') || new Set(tags).size < tags.length) {
		throw new Failure('invalid', 'The template has an empty or a duplicate tag.', 'Give each tag its own text.');
	}
	return template;
}

/** Every tag of the template, in the order in which a completion must show them. */
export function templateTags(template: Pick<Template, 'think' | 'answer'>): string[] {
	return [...(template.think ?? []), ...(template.answer ?? [])];
}

export function renderPrompt(template: Template, problem: string): string {
	return template.prompt.split('{prompt}').join(problem);
}

/**
 * The completion that a worked problem teaches, without end-of-sequence: `<think>solution</think><answer>answer</answer>`.
 * Without answer tags the answer is what follows the thinking; without think tags the solution is left out.
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
