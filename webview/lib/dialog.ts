/** Shows a modal dialog scrolled to the top. By default, the browser would focus its first button and scroll to it. */
export function showDialog(dialog: HTMLDialogElement): void {
	if (dialog.open) return;
	dialog.tabIndex = -1;
	dialog.showModal();
	dialog.focus();
	dialog.scrollTop = 0;
}
