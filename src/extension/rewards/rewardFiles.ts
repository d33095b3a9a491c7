import { basename } from 'node:path';
import { rewardFileEnding } from '../../rewards/rewardFileName.ts';

export type RewardLanguage = 'typescript' | 'javascript' | 'python';

/** Glob pattern for reward files in a workspace. */
export const rewardFilePattern = '**/*.reward.{ts,js,mjs,py}';

/** Returns the language of a reward file based on its name, or null if it is not a reward file. */
export function rewardLanguage(path: string): RewardLanguage | null {
	const extension = rewardFileEnding.exec(path)?.[1];
	if (extension === undefined) return null;
	return extension === 'py' ? 'python' : extension === 'ts' ? 'typescript' : 'javascript';
}

/**
 * Returns the stem of a reward file: "rewards/brevity.reward.py" becomes "brevity". Case files and default exports are
 * named after it.
 */
export function rewardStem(path: string): string {
	return basename(path).replace(rewardFileEnding, '');
}

/** Converts the file stem to a JavaScript identifier, the name that the host gives to a `default` export. */
export function defaultRewardName(path: string): string {
	return rewardStem(path);
}

/** Returns whether a URI is a reward file on the extension host's disk, in a local or remote window. */
export function isRewardUri(uri: { readonly scheme: string; readonly fsPath: string }): boolean {
	return uri.scheme === 'file' && rewardLanguage(uri.fsPath) !== null;
}
