// A login leads to what a link shows.

document.querySelector("form").action += location.hash
