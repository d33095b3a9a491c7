import type { Platform } from './platform.ts';
import { platformDarwin } from './platformDarwin.ts';
import { platformLinux } from './platformLinux.ts';
import { platformWin32 } from './platformWin32.ts';

/** Returns the platform that this process runs on. */
export function currentPlatform(): Platform {
	switch (process.platform) {
		case 'win32':
			return platformWin32;
		case 'darwin':
			return platformDarwin;
		default:
			return platformLinux;
	}
}
