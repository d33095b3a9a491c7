import { readNamed } from '../files/safeFile.ts';
import type { RewardRunner } from './rewardRunner.ts';

const models: ReadonlySet<string> = new Set(['judge', 'process', 'reward-model']);

/** Code patterns that indicate a model call: a model client, a connection, a subprocess, or a telltale name. */
const asking =
	/judge|grader|\bllms?\b|openai|anthropic|litellm|gemini|mistral|ollama|vllm|transformers|torch|onnx|langchain|\bfetch\b|requests|https?\b|httpx|aiohttp|urllib|socket|node:net|undici|axios|child_process|subprocess|os\.system|\bimport\(|importlib|__import__/i;

const largest = 4 << 20;

/**
 * Returns whether a reward might call a model to compute its value. Returns false only if its code shows no sign of
 * that; for unreadable or unknown code, returns true. Call this after the rewards are loaded, because their files are
 * not known until then.
 */
export async function asksModel({ source, files }: Pick<RewardRunner, 'source' | 'files'>): Promise<boolean> {
	if ('builtIns' in source) return source.builtIns.some(({ use }) => models.has(use));
	for (const file of new Set([source.file, ...files])) {
		const text = await readNamed(file, { largest }).catch(() => null);
		if (text === null || asking.test(text.toString())) return true;
	}
	return false;
}
