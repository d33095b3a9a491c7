import { basename } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { episodesPath } from '../../../core/episode/environmentLanguage.ts';
import { labelOfBranch } from '../../../core/episode/labelOfBranch.ts';
import type { EpisodeBranch } from '../../../protocol/episodeMessages.ts';
import { appendCase } from '../../../rewards/appendCase.ts';
import type { Notices } from '../../notices.ts';
import { showInputBox } from '../../quickInput.ts';
import { displayText } from '../../runView.ts';

/**
 * Appends an episode to the labeled episodes of its environment. Asks for a name unless the caller provides one.
 * Resolves to the file, or null if the user canceled. Fails with the same errors as `labelOfBranch` and `appendCase`,
 * and with `mismatch` if the file has unsaved changes.
 */
export async function saveEpisode(
	environmentFile: string,
	branch: EpisodeBranch,
	notices: Notices,
	given?: string,
): Promise<string | null> {
	const file = episodesPath(environmentFile);
	// Check before asking the user for a name.
	labelOfBranch(branch, '');
	if (vscode.workspace.textDocuments.some(({ uri, isDirty }) => isDirty && uri.fsPath === file)) {
		throw new Failure('mismatch', `${basename(file)} has unsaved changes.`, 'Save it, then try again.');
	}
	const name =
		given ??
		(await showInputBox({
			title: 'Save as labeled episode',
			prompt: `Episode name in ${basename(file)} (optional)`,
		}));
	if (name === undefined) return null;
	const added = await appendCase(file, labelOfBranch(branch, name.trim()));
	const open = async () => {
		const at = new vscode.Range(added.line - 1, 0, added.line - 1, 0);
		await vscode.window.showTextDocument(vscode.Uri.file(file), { selection: at });
	};
	const undo = () => added.undo().catch((error: unknown) => notices.failure(error));
	void notices.information(`Added line ${added.line} to ${displayText(basename(file), 80)}.`, [
		{ title: 'Open', run: open },
		{ title: 'Undo', run: undo },
	]);
	return file;
}
