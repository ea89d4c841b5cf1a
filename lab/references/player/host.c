/* SPDX-License-Identifier: BSL-1.0
 * millpond-player: a program that does nothing: calls are played in it (player.c) where the recorded program is not at
 * hand. */
int main(void) { return 0; }
