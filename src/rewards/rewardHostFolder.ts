import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Returns the host program folder: the current bundle's folder, or src/rewards when running from source. A program that
 * runs from a copy elsewhere, such as a host itself, gets the folder in REASONING_LAB_PROGRAMS. For ES modules only;
 * the extension host specifies its dist folder itself.
 */
export function rewardHostFolder(): string {
	return process.env.REASONING_LAB_PROGRAMS ?? dirname(fileURLToPath(import.meta.url));
}
