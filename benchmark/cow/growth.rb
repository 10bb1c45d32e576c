# frozen_string_literal: true

# How much more memory a parent and its children use once each child has run a full GC.
#
#   ruby growth.rb skep 4000000 10
#
# Right after the fork they share all pages. A page that the GC writes to becomes private to the
# child. PSS counts a shared page once; swap is ignored.

require_relative "program"

way, objects, children = ARGV

measure do
  prepare = Preparation.load(way)
  heap = Heap.new(Integer(objects))
  family = nil
  forked = seconds do
    prepare.call
    family = Family.new(Integer(children), [-> { GC.start || heap.size }])
  end
  before = family.pss
  family.step
  after, private = family.pss, family.uss
  family.end
  { "after / before" => after.fdiv(before), "before MiB" => before / MEBIBYTE,
    "after MiB" => after / MEBIBYTE, "private MiB a child" => private / MEBIBYTE,
    "prepare and fork s" => forked }
end
