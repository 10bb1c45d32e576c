# frozen_string_literal: true

# The topic to which an offset belongs. A topic that is deleted and created again has another id,
# and its offsets mean other messages. Each commit says it (CommitMetadata).
#
#   origin = OffsetOrigin.new("5L6g3nShT-eMCtK--X86sw", "4WO1gjDwTeG0mHqVdd1Hgw")
#   former.superseded_by?(origin)   # => true: the topic was created again since that commit
#
# The ids of another cluster say nothing: MirrorMaker copies a group's commits with their metadata,
# and their offsets, which it has translated, count.
module Skep
  module Kafka
    module Processing
      OffsetOrigin = Struct.new(:cluster, :topic_id) do
        def superseded_by?(now) = cluster == now.cluster && topic_id != now.topic_id

        # Returns its part of a commit's JSON. Each batch writes it.
        def json = @json ||= JSON.generate({ "cluster" => cluster, "topic" => topic_id })[1..-2]
      end
    end
  end
end
