// SPDX-License-Identifier: BSL-1.0
// Mends what the theme leaves: a block that scrolls sideways takes the keyboard's focus, landmarks have different names,
// and the page of the search has a heading.
"use strict";
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
  if (!document.querySelector("h1")) {
    const heading = document.createElement("h1");
    heading.textContent = "Search";
    document.querySelector("article")?.prepend(heading);
  }
  const mark = () => {
    for (const block of document.querySelectorAll("pre, .table-wrapper")) {
      if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
      else block.removeAttribute("tabindex");
    }
  };
  mark();
  addEventListener("resize", mark);
});
