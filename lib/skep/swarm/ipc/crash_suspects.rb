# frozen_string_literal: true

# What nodes had in hand when they crashed, and how often: what ends one node after another is found
# by it. Pure: facts and a time in. What the names mean only the work knows.
#
#   suspects = CrashSuspects.new
#   charged = suspects.record_crash([["orders/0/17-42", 25]], 3, now)   # 3: whose slot it was
#   suspects.set_exit(charged, "SIGSEGV")
#   suspects.clear([["orders/0/17-42", 25]])   # it has been done: nothing is wrong with it
#   suspects.learn(charged.map(&:to_plain))    # in a node, which is told of them
#
# A crash with one thing in hand says more than one with several: both are counted. It remembers
# MOST of them, those longest that were in hand most often, for SECONDS after the last crash.
# Readers on other threads see all of a change or nothing of it.
module Skep
  class Swarm
    module IPC
      class CrashSuspects
        MOST = 256
        SECONDS = 3600.0
        ENDS = 5
        # Culprits in so many seconds whose crashes are forgiven: where there are more of them it
        # isn't they that are wrong, and a crash loop is what it is.
        FORGIVEN = 10
        private_constant :MOST, :SECONDS, :ENDS, :FORGIVEN

        # in_hand: its name; at: which part of it was last given out, if that was told; crashes:
        # with it in hand; alone: those of them with nothing else in hand; ends: how the last few
        # nodes died; slots: whose they were; time: of the last crash.
        Suspect = Struct.new(:in_hand, :at, :crashes, :alone, :ends, :slots, :time) do
          def key = [in_hand, at] #: () -> [String, Integer?]
          def to_plain = to_h.transform_keys(&:to_s) #: () -> Hash[String, untyped]
          def to_s = CrashSuspects.name(in_hand, at) #: () -> String
        end

        # "orders/0/17-42 at 25"
        #: (String, Integer?) -> String
        def self.name(in_hand, at) = at ? "#{in_hand} at #{at}" : in_hand

        def initialize #: () -> void
          @all = {}.freeze
          @settled = []
        end

        def empty? = @all.empty? #: () -> bool
        def to_a = @all.values #: () -> Array[Suspect]
        def to_plain = to_a.map(&:to_plain) #: () -> Array[Hash[String, untyped]]
        alias dump to_plain

        # A node has crashed with these in hand: each a name, and which part of it or nil.
        #: (Array[[String, Integer?]], Integer?, Float) -> Array[Suspect]
        def record_crash(held, slot, now)
          charged = held.map { |key| once_more(key, slot, now, held.one?) }
          recent = @all.reject { |_, suspect| now - suspect.time > SECONDS }
          keep_most(recent.merge(by_key(charged)))
          charged
        end

        # How that node died, once it is known.
        def set_exit(charged, how) #: (Array[Suspect], String) -> Array[Suspect]
          told = charged.map do |suspect|
            suspect.dup.tap { |known| known.ends = [*known.ends, how].last(ENDS).freeze }
          end
          learn(told.map(&:to_plain))
          told
        end

        # Returns those it knew.
        #: (Array[[String, Integer?]]) -> Array[Suspect]
        def clear(keys)
          known = @all.values_at(*keys).compact
          @all = @all.except(*keys).freeze
          known
        end

        # One of them is to blame for their crashes, which count for nothing any more: whose they
        # were, each as often as it crashed.
        #: (Array[[String, Integer?]], Float) -> Array[Integer?]
        def forgive(keys, now)
          @settled.reject! { |time| now - time > SECONDS }
          known = @all.values_at(*keys).compact.select { |suspect| suspect.slots.any? }
          return [] if known.empty? || @settled.size >= FORGIVEN

          @settled << now
          learn(known.map { |suspect| { **suspect.to_plain, "slots" => [] } })
          known.flat_map(&:slots)
        end

        def learn(plain) #: (Array[Hash[String, untyped]]) -> self
          keep_most(@all.merge(by_key(plain.map { |facts| Suspect.new(*facts.values_at(*FACTS)) })))
          self
        end

        FACTS = Suspect.members.map(&:to_s).freeze
        private_constant :FACTS

        alias restore learn

        def inspect = "#<#{self.class} #{to_a.map(&:to_s)}>" #: () -> String

        private

        def once_more(key, slot, now, alone)
          before = @all[key] || Suspect.new(*key, 0, 0, [], [], now)
          Suspect.new(*key, before.crashes + 1, before.alone + (alone ? 1 : 0), before.ends,
                      [*before.slots, slot].last(ENDS), now)
        end

        def by_key(suspects) = suspects.to_h { |suspect| [suspect.key, suspect] }

        def keep_most(all)
          return @all = all.freeze if all.size <= MOST

          by_weight = all.sort_by { |_, suspect| [suspect.alone, suspect.crashes, suspect.time] }
          @all = by_weight.last(MOST).to_h.freeze
        end
      end
    end
  end
end
