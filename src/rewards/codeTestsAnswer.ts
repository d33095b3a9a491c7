import type { Trace } from '../core/trace/trace.ts';

export const codeLanguages = ['python', 'javascript'] as const;
export type CodeLanguage = (typeof codeLanguages)[number];

const names: Readonly<Record<CodeLanguage, readonly string[]>> = {
	python: ['python', 'py', 'python3'],
	javascript: ['javascript', 'js', 'node', 'mjs', 'cjs'],
};

/**
 * Extracts the code from an answer: the last fenced block in the language within the answer section, otherwise the last
 * fenced block, otherwise the whole section. Without an answer section, uses the text after the thinking section. Code
 * in the thinking section never counts. Returns null if there is no code, or if there are several answer sections.
 */
export function codeOfAnswer(completion: string, trace: Trace, language: CodeLanguage): string | null {
	if (trace.tags.filter(({ section, kind }) => section === 'answer' && kind === 'open').length > 1) return null;
	const text = trace.answer ?? afterThinking(completion, trace);
	if (text === null) return null;
	const blocks = fencedBlocks(text);
	const ofLanguage = blocks.filter(({ info }) => names[language].includes(info));
	const code = (ofLanguage.at(-1) ?? blocks.at(-1))?.code ?? text;
	return code.trim() === '' ? null : code;
}

function afterThinking(completion: string, trace: Trace): string | null {
	const think = trace.tags.filter(({ section }) => section === 'think');
	if (think.length === 0) return completion;
	const last = think.at(-1);
	return last?.kind === 'close' ? completion.slice(last.end) : null;
}

interface Block {
	/** First word after the fence, in lowercase. */
	readonly info: string;
	readonly code: string;
}

/** Returns the fenced code blocks in Markdown (CommonMark 4.5), line by line. An unclosed block extends to the end. */
function fencedBlocks(text: string): Block[] {
	const blocks: Block[] = [];
	let open: { readonly fence: string; readonly info: string; readonly lines: string[] } | null = null;
	for (const line of text.split('\n')) {
		const [, fence, rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line.replace(/\r$/, '')) ?? [];
		if (open === null) {
			// A backtick fence cannot be followed by more backticks: that would be inline code.
			if (fence !== undefined && !(fence.startsWith('`') && rest.includes('`'))) {
				open = { fence, info: (/^\s*\{?\.?([\w+#-]*)/.exec(rest)?.[1] ?? '').toLowerCase(), lines: [] };
			}
		} else if (fence?.startsWith(open.fence) && rest.trim() === '') {
			blocks.push({ info: open.info, code: `${open.lines.join('\n')}\n` });
			open = null;
		} else {
			open.lines.push(line);
		}
	}
	if (open !== null) blocks.push({ info: open.info, code: `${open.lines.join('\n')}\n` });
	return blocks;
}
