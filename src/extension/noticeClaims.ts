import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type * as vscode from 'vscode';

const claimsFolder = 'ended';

/** Returns true for the first window that claims a notification. @param storage folder shared by all windows */
export async function claimNotice(storage: vscode.Uri, what: string): Promise<boolean> {
	const folder = join(storage.fsPath, claimsFolder);
	const name = createHash('sha256').update(what).digest('hex').slice(0, 32);
	try {
		await mkdir(folder, { recursive: true });
		await writeFile(join(folder, name), '', { flag: 'wx' });
		return true;
	} catch (error) {
		// Showing a notification twice is better than not showing it.
		return (error as NodeJS.ErrnoException).code !== 'EEXIST';
	}
}
