import { basename } from 'node:path';

export type RewardLanguage = 'typescript' | 'javascript' | 'python';

/** Reward files of a workspace. */
export const rewardFilePattern = '**/*.reward.{ts,js,mjs,py}';

const named = /\.reward\.(ts|js|mjs|py)$/;

/** The language of a reward file by its name; null when the name is not that of a reward file. */
export function rewardLanguage(path: string): RewardLanguage | null {
	const extension = named.exec(path)?.[1];
	if (extension === undefined) return null;
	return extension === 'py' ? 'python' : extension === 'ts' ? 'typescript' : 'javascript';
}

/** "rewards/brevity.reward.py" -> "brevity": what its cases file and a default export are named after. */
export function rewardStem(path: string): string {
	return basename(path).replace(named, '');
}

/** The labeled cases of a reward file are next to it. */
export function casesFileOf(path: string): string {
	return path.replace(named, '.cases.jsonl');
}

/** The name of a reward as the host makes one of a `default` export: a JavaScript identifier of the file's stem. */
export function defaultRewardName(path: string): string {
	return rewardStem(path);
}

/** What the extension looks at: reward files on this machine's disk, in a window of its own or a remote one. */
export function isRewardUri(uri: { readonly scheme: string; readonly fsPath: string }): boolean {
	return uri.scheme === 'file' && rewardLanguage(uri.fsPath) !== null;
}
